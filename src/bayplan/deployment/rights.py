"""What the scheduler may do in a cluster: one rule for each thing that it does, none for what it does not.

The rules follow from the profiles: what the enabled plugins watch is watched, what they write is written. What a
plugin of one's own asks of `handle.client` cannot be seen here; `Rule.parse` reads what its author says of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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
    from bayplan.framework import ProfilePlugins
    from bayplan.scheduler import Scheduler

WATCH: Final = ("list", "watch")
#: Of what the API server tells about who may ask the scheduler for its metrics.
AUTHENTICATION_READER: Final = "extension-apiserver-authentication-reader"
#: Their PostFilter takes something back, and evicts nobody.
_EVICT_NOBODY: Final = frozenset({"Coscheduling", "DynamicResources"})
#: Whose status `--controllers` keeps.
_KEPT_KINDS: Final[tuple[type[KubeObject], ...]] = (PodGroup, ElasticQuota)
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

        Raises ValueError with what is wrong.
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


def cluster_rules(scheduler: Scheduler, *, controllers: bool = False) -> list[Rule]:
    """Everywhere in the cluster. *controllers*: whether the status of PodGroups and ElasticQuotas is kept too."""
    return [
        *_watched(scheduler, _KEPT_KINDS if controllers else ()),
        Rule("", ("pods/binding",), ("create",)),
        # Of a bind whose answer was lost: did it happen?
        Rule("", ("pods",), ("get",)),
        Rule("", ("pods/status",), ("patch",)),
        *_preemption(scheduler),
        *_volumes(scheduler),
        *_loads(scheduler),
        *(_kept_status() if controllers else []),
        Rule("events.k8s.io", ("events",), ("create", "patch")),
        Rule("authentication.k8s.io", ("tokenreviews",), ("create",)),
        Rule("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
    ]


def lease_rules(name: str) -> list[Rule]:
    """In the namespace of the Lease."""
    return [
        # A name cannot be asked for here: it is not known to the authorizer before the object is there.
        Rule("coordination.k8s.io", ("leases",), ("create",)),
        Rule("coordination.k8s.io", ("leases",), ("get", "update"), (name,)),
        Rule("", ("events",), ("create",)),
    ]


def _watched(scheduler: Scheduler, more: Iterable[type[KubeObject]]) -> list[Rule]:
    """One rule for each API group."""
    by_group: dict[str, set[str]] = {}
    kinds: set[type[KubeObject]] = {Pod, Node, *scheduler.objects.kinds, *more}
    for kind in kinds:
        known = kind_of(kind)
        by_group.setdefault(_group(known.api_version), set()).add(known.plural)
    for api_version, plural in scheduler.objects.custom_kinds:
        by_group.setdefault(_group(api_version), set()).add(plural)
    return [Rule(group, tuple(sorted(plurals)), WATCH) for group, plurals in sorted(by_group.items())]


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _profiles(scheduler: Scheduler) -> list[ProfilePlugins]:
    return [profile.plugins for profile in scheduler.profiles.values()]


def _preemption(scheduler: Scheduler) -> list[Rule]:
    asked = {bound.name for plugins in _profiles(scheduler) for bound in plugins.on("postFilter")}
    return [Rule("", ("pods",), ("delete",))] if asked - _EVICT_NOBODY else []


def _volumes(scheduler: Scheduler) -> list[Rule]:
    """Binding of volumes: both sides are written before the pod is bound."""
    if not any("VolumeBinding" in plugins.plugins for plugins in _profiles(scheduler)):
        return []
    kinds = (PersistentVolumeClaim, PersistentVolume)
    return [Rule("", tuple(kind.PLURAL for kind in kinds), ("update",))]


def _loads(scheduler: Scheduler) -> list[Rule]:
    """Measured load, where the cluster's own metrics server is asked for it."""
    sources = [feed.source for feed in scheduler.loads]
    if any(source.provider == METRICS_SERVER and not source.watcher_address for source in sources):
        return [Rule("metrics.k8s.io", ("nodes",), ("list",))]
    return []


def _kept_status() -> list[Rule]:
    kinds = [kind_of(kind) for kind in _KEPT_KINDS]
    statuses = tuple(f"{kind.plural}/status" for kind in kinds)
    # Events of controllers are of the old API, beside the object.
    return [Rule(_group(kinds[0].api_version), statuses, ("patch",)), Rule("", ("events",), ("create",))]
