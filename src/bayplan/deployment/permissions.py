"""RBAC rules for the scheduler: exactly what it does in a cluster.

The rules follow from the profiles: what the enabled plugins watch and write. Requests that a custom plugin makes
with `handle.client` are unknown here; `Rule.parse` reads the rules that the user gives for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bayplan.config.args.trimaran import METRICS_SERVER
from bayplan.model import (
    ElasticQuota,
    KubeObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    kind_of,
)

if TYPE_CHECKING:
    from bayplan.core import SchedulerCore
    from bayplan.framework import ProfilePlugins
    from bayplan.framework.object_selection import ObjectSelection

WATCH: Final = ("list", "watch")
#: The Role for reading how the API server authenticates clients, which the scheduler does for its own endpoints.
AUTHENTICATION_READER: Final = "extension-apiserver-authentication-reader"
#: Plugins whose PostFilter evicts no pods.
_WITHOUT_EVICTION: Final = frozenset({"Coscheduling", "DynamicResources"})
#: The kinds whose status `--controllers` updates.
_CONTROLLED_KINDS: Final[tuple[type[KubeObject], ...]] = (PodGroup, ElasticQuota)
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_RESOURCE: Final = re.compile(r"[a-z0-9-]+(/[a-z0-9-]+)?")
_GROUP: Final = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*")


class Rule(NamedTuple):
    """One rule of a Role or ClusterRole."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Rule:
        """`get,patch:foos/status.example.com`: verbs, resource, and the group of any but the core one.

        Raises ValueError.
        """
        verbs_text, colon, rest = text.partition(":")
        resource, _, group = rest.partition(".")
        verbs = tuple(verbs_text.split(","))
        if not (colon and _RESOURCE.fullmatch(resource) and (not group or _GROUP.fullmatch(group))):
            raise ValueError(f"{text!r}: write VERBS:RESOURCE.GROUP, for example get,patch:foos.example.com")
        if unknown := sorted(set(verbs) - set(_VERBS)):
            raise ValueError(f"{text!r}: no verb {unknown[0]!r}; verbs are {', '.join(_VERBS)}")
        return cls(group, (resource,), verbs)

    def to_dict(self) -> dict[str, Any]:
        rule: dict[str, Any] = {
            "apiGroups": [self.group],
            "resources": list(self.resources),
            "verbs": list(self.verbs),
        }
        return rule | ({"resourceNames": list(self.names)} if self.names else {})


def cluster_rules(scheduler: SchedulerCore, *, controllers: bool = False) -> list[Rule]:
    """Rules for the whole cluster. *controllers*: whether the status of PodGroups and ElasticQuotas is updated
    too."""
    return [
        *_watched(scheduler, _CONTROLLED_KINDS if controllers else ()),
        Rule("", ("pods/binding",), ("create",)),
        # To find out whether a bind happened whose response was lost.
        Rule("", ("pods",), ("get",)),
        Rule("", ("pods/status",), ("patch",)),
        *_preemption(scheduler),
        *_volumes(scheduler),
        *_claims(scheduler),
        *_loads(scheduler),
        *(_status_updates() if controllers else []),
        Rule("events.k8s.io", ("events",), ("create", "patch")),
        Rule("authentication.k8s.io", ("tokenreviews",), ("create",)),
        Rule("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
    ]


def lease_rules(name: str) -> list[Rule]:
    """Rules for the namespace of the Lease."""
    return [
        # Create cannot be restricted by name: the authorizer does not know the name of an object yet to be
        # created.
        Rule("coordination.k8s.io", ("leases",), ("create",)),
        Rule("coordination.k8s.io", ("leases",), ("get", "update"), (name,)),
        Rule("", ("events",), ("create",)),
    ]


def _watched(scheduler: SchedulerCore, more: Iterable[type[KubeObject]]) -> list[Rule]:
    """One rule for each API group."""
    by_group: dict[str, set[str]] = {}
    kinds: set[type[KubeObject]] = {Pod, Node, *scheduler.objects.kinds, *more}
    for kind in kinds:
        known = kind_of(kind)
        by_group.setdefault(_group(known.api_version), set()).add(known.plural)
    for api_version, plural in scheduler.objects.custom_kinds:
        by_group.setdefault(_group(api_version), set()).add(plural)
    for selection in scheduler.objects.selections:
        if not selection.namespace and not selection.object_name:
            by_group.setdefault(selection.group, set()).add(selection.plural)
    by_name = [
        Rule(selection.group, (selection.plural,), WATCH, (selection.object_name,))
        for selection in scheduler.objects.selections
        if not selection.namespace and selection.object_name and not _is_watched(selection, by_group)
    ]
    return [*_by_group(by_group), *sorted(set(by_name))]


def namespace_rules(scheduler: SchedulerCore) -> dict[str, list[Rule]]:
    """Namespace → rules for what plugins watch there, and nowhere else. An object that is selected by its name can
    be listed and watched with a right to this name alone."""
    found: dict[str, set[Rule]] = {}
    for selection in scheduler.objects.selections:
        if selection.namespace:
            names = (selection.object_name,) if selection.object_name else ()
            rule = Rule(selection.group, (selection.plural,), WATCH, names)
            found.setdefault(selection.namespace, set()).add(rule)
    return {namespace: sorted(rules) for namespace, rules in sorted(found.items())}


def _is_watched(selection: ObjectSelection, by_group: Mapping[str, set[str]]) -> bool:
    return selection.plural in by_group.get(selection.group, ())


def _by_group(by_group: Mapping[str, set[str]]) -> list[Rule]:
    return [Rule(group, tuple(sorted(plurals)), WATCH) for group, plurals in sorted(by_group.items())]


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _profiles(scheduler: SchedulerCore) -> list[ProfilePlugins]:
    return [profile.plugins for profile in scheduler.profiles.values()]


def _preemption(scheduler: SchedulerCore) -> list[Rule]:
    names = {bound.name for plugins in _profiles(scheduler) for bound in plugins.on("postFilter")}
    return [Rule("", ("pods",), ("delete",))] if names - _WITHOUT_EVICTION else []


def _volumes(scheduler: SchedulerCore) -> list[Rule]:
    """Binding of volumes: both sides are written before the pod is bound."""
    if not any("VolumeBinding" in plugins.plugins for plugins in _profiles(scheduler)):
        return []
    kinds = (PersistentVolumeClaim, PersistentVolume)
    return [Rule("", tuple(kind.PLURAL for kind in kinds), ("update",))]


def _claims(scheduler: SchedulerCore) -> list[Rule]:
    """Allocation of devices: claims are protected and allocated before the pod is bound, and given back.

    Claims for extended resources are made and deleted. Allocations and reservations are a right of their own
    since 1.36: `binding` is no endpoint.
    """
    if not any("DynamicResources" in plugins.plugins for plugins in _profiles(scheduler)):
        return []
    group, claims = "resource.k8s.io", "resourceclaims"
    return [
        Rule(group, (claims,), ("create", "delete", "get", "update")),
        Rule(group, (f"{claims}/status",), ("patch", "update")),
        Rule(group, (f"{claims}/binding",), ("patch", "update")),
    ]


def _loads(scheduler: SchedulerCore) -> list[Rule]:
    """Measured load, if it comes from the metrics server of the cluster."""
    sources = [feed.source for feed in scheduler.loads]
    if any(source.provider == METRICS_SERVER and not source.watcher_address for source in sources):
        return [Rule("metrics.k8s.io", ("nodes",), ("list",))]
    return []


def _status_updates() -> list[Rule]:
    kinds = [kind_of(kind) for kind in _CONTROLLED_KINDS]
    statuses = tuple(f"{kind.plural}/status" for kind in kinds)
    # Controllers write events of the core API group.
    return [Rule(_group(kinds[0].api_version), statuses, ("patch",)), Rule("", ("events",), ("create",))]
