"""ClusterObjects: the objects of a cluster at one time, and a core that has seen them.

In: objects, as dictionaries or decoded. Out: `new_cluster_core`, a core that decides about them and schedules
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from bayplan.core import SchedulerCore
from bayplan.core.messages import CustomObjectChanged, ObjectChanged, SelectedObjectChanged
from bayplan.explain.explanation import AnswerSource, NotSeen
from bayplan.framework.object_selection import ObjectSelection, is_plural_of
from bayplan.model import KINDS, KubeObject, Node, ObjectError, Pod
from bayplan.observe import klog

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.framework import Clock, Registry

log = klog.get_logger("bayplan.explain")

DEFAULT_SCHEDULER: Final = "default-scheduler"


class ClusterObjects:
    """The objects by kind, and what could not be seen."""

    def __init__(self, kind: str, description: str) -> None:
        self._kind = kind
        self._description = description
        self.pods: dict[str, Pod] = {}
        self.nodes: dict[str, Node] = {}
        #: Type → key → object, for every other kind of `bayplan.model`.
        self.others: dict[type[KubeObject], dict[str, KubeObject]] = {}
        #: (apiVersion, kind) → key → object, for kinds that the model does not know: owners, custom resources.
        self.unknown: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
        #: (apiVersion, plural) → objects of custom resources that plugins have asked for.
        self.custom: dict[tuple[str, str], list[dict[str, Any]]] = {}
        #: The parts of resources that plugins have asked for, as read from a cluster.
        self.selected: dict[ObjectSelection, list[Any]] = {}
        self.not_seen: list[NotSeen] = []

    def add(self, value: KubeObject) -> None:
        if isinstance(value, Pod):
            self.pods[value.key] = value
        elif isinstance(value, Node):
            self.nodes[value.name] = value
        else:
            self.others.setdefault(type(value), {})[value.key] = value

    def add_mapping(self, mapping: Mapping[str, Any]) -> None:
        """Add an object as kubectl prints it. Raises ObjectError."""
        api_version, kind = str(mapping.get("apiVersion", "")), str(mapping.get("kind", ""))
        known = KINDS.get((api_version, kind))
        if known is None:
            metadata = mapping.get("metadata") or {}
            key = "/".join(part for part in (metadata.get("namespace"), metadata.get("name")) if part)
            self.unknown.setdefault((api_version, kind), {})[key] = mapping
        else:
            self.add(known.type.from_dict(stored(mapping, namespaced=known.namespaced)))

    def __iter__(self) -> Iterator[KubeObject]:
        """Every object that a scheduler reads, in an order in which it may be fed."""
        for by_key in self.others.values():
            yield from by_key.values()
        yield from self.nodes.values()
        yield from self.pods.values()

    def of_plural(self, api_version: str, plural: str) -> Iterator[dict[str, Any]]:
        """The objects of a file whose kind has this plural, as far as it can be told from the words."""
        for (its_version, kind), by_key in self.unknown.items():
            if its_version == api_version and is_plural_of(plural, kind):
                yield from (dict(mapping) for mapping in by_key.values())

    def in_selection(self, selection: ObjectSelection) -> Iterable[Any]:
        """The objects that a selection has: as read from a cluster, or those of files that match it."""
        if selection in self.selected:
            return self.selected[selection]
        kind = selection.kind
        found: Iterable[Any] = (
            self.of_plural(selection.api_version, selection.plural)
            if kind is None
            else (value for value in self if isinstance(value, kind))
        )
        return [value for value in found if selection.matches(value)]

    def source(self) -> AnswerSource:
        return AnswerSource(
            kind=self._kind,
            description=self._description,
            n_nodes=len(self.nodes),
            n_pods=len(self.pods),
            not_seen=tuple(self.not_seen),
        )


def stored(mapping: Mapping[str, Any], *, namespaced: bool = True) -> Mapping[str, Any]:
    """*mapping* with what the API server adds to every object, where it is missing: namespace and uid; and for a
    pod the name of its scheduler."""
    metadata = mapping.get("metadata")
    if not isinstance(metadata, Mapping):
        return mapping
    added: dict[str, Any] = {}
    if namespaced and not metadata.get("namespace"):
        added["namespace"] = "default"
    if not metadata.get("uid"):
        added["uid"] = f"{mapping.get('kind')}/{metadata.get('namespace', '')}/{metadata.get('name')}"
    result = {**mapping, "metadata": {**metadata, **added}} if added else mapping
    spec = mapping.get("spec")
    if mapping.get("kind") == "Pod" and isinstance(spec, Mapping) and not spec.get("schedulerName"):
        result = {**result, "spec": {**spec, "schedulerName": DEFAULT_SCHEDULER}}
    return result


def new_cluster_core(objects: ClusterObjects, loaded: Loaded, registry: Registry, clock: Clock) -> SchedulerCore:
    """A core that has seen *objects*. Extenders are not called, and no pod enters the queue."""
    core = SchedulerCore(loaded, registry, clock=clock, schedules_pods=False, seed=0)
    feed(core, objects)
    for api_version, plural in core.objects.custom_kinds:
        for mapping in (*objects.custom.get((api_version, plural), ()), *objects.of_plural(api_version, plural)):
            core.handle(CustomObjectChanged(api_version, plural, None, mapping))
    for selection in core.objects.selections:
        for value in objects.in_selection(selection):
            core.handle(SelectedObjectChanged(selection, None, value))
    return core


def feed(core: SchedulerCore, objects: Iterable[KubeObject]) -> None:
    """Show *objects* to *core*; one that cannot be read is left out, as by a scheduler."""
    for each in objects:
        if isinstance(each, Pod) and each.is_terminal:
            continue
        try:
            core.handle(ObjectChanged(None, each))
        except (ObjectError, ValueError) as error:
            log.error(error, "Left out")
        if isinstance(each, Pod) and not each.node_name:
            core.nominator.read(each)
