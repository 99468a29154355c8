"""The selector for pods that bring no spread constraints of their own: what their services and controller select.

Working it out means asking every service of the namespace, so it is kept for pods with the same labels and
controller until a selector somewhere changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bayplan.model import (
    EVERYTHING,
    ReplicaSet,
    ReplicationController,
    Selector,
    SelectorError,
    Service,
    StatefulSet,
    compile_selector,
    selector_from_labels,
)

if TYPE_CHECKING:
    from bayplan.framework import Informers
    from bayplan.model import OwnerReference, Pod

#: More than this are not kept at a time.
_MAX_KEPT: Final = 4096

_Key: TypeAlias = "tuple[str, tuple[str, str, str] | None, frozenset[tuple[str, str]]]"


class DefaultSelectors:
    """Selectors by pod; one that selects everything means that nothing stands behind the pod."""

    def __init__(self, informers: Informers) -> None:
        self._kept: dict[_Key, Selector] = {}
        #: Namespace → name → the selector of a service.
        self._service_selectors: dict[str, dict[str, Mapping[str, str]]] = {}
        for service in informers.lister(Service).list():
            self._service_changed(None, service)
        self._replication_controllers = informers.lister(ReplicationController)
        self._replica_sets = informers.lister(ReplicaSet)
        self._stateful_sets = informers.lister(StatefulSet)
        informers.on_change(Service, self._service_changed)
        for kind in (ReplicationController, ReplicaSet, StatefulSet):
            informers.on_change(kind, self._forget)

    def _service_changed(self, old: Service | None, new: Service | None) -> None:
        if new is not None:
            self._service_selectors.setdefault(new.namespace, {})[new.name] = new.spec.selector
        elif old is not None:
            self._service_selectors.get(old.namespace, {}).pop(old.name, None)
        self._forget(old, new)

    def _forget(self, old: Any, new: Any) -> None:
        # Status updates of controllers come all the time and change nothing here.
        if old is None or new is None or old.spec.selector != new.spec.selector:
            self._kept.clear()

    def of(self, pod: Pod) -> Selector:
        owner = pod.controller
        controller = None if owner is None else (owner.api_version, owner.kind, owner.name)
        key = (pod.namespace, controller, frozenset(pod.labels.items()))
        selector = self._kept.get(key)
        if selector is None:
            if len(self._kept) >= _MAX_KEPT:
                self._kept.clear()
            selector = self._kept[key] = self._work_out(pod, owner)
        return selector

    def _work_out(self, pod: Pod, owner: OwnerReference | None) -> Selector:
        labels = self._service_labels(pod)
        if owner is None:
            return selector_from_labels(labels) if labels else EVERYTHING
        name, namespace = owner.name, pod.namespace
        match owner.api_version, owner.kind:
            case "v1", "ReplicationController":
                controller = self._replication_controllers.get(name, namespace)
                return selector_from_labels(labels | (controller.spec.selector if controller else {}))
            case "apps/v1", "ReplicaSet":
                return _narrowed(labels, self._replica_sets.get(name, namespace))
            case "apps/v1", "StatefulSet":
                return _narrowed(labels, self._stateful_sets.get(name, namespace))
        return selector_from_labels(labels)

    def _service_labels(self, pod: Pod) -> dict[str, str]:
        """The selectors of all services that select the pod, in one; they cannot contradict each other."""
        merged: dict[str, str] = {}
        for selector in self._service_selectors.get(pod.namespace, {}).values():
            if selector.items() <= pod.labels.items():
                merged.update(selector)
        return merged


def _narrowed(labels: dict[str, str], controller: ReplicaSet | StatefulSet | None) -> Selector:
    """The services' labels and the controller's selector; one that cannot be read is left out."""
    try:
        own = compile_selector(controller.spec.selector) if controller is not None else EVERYTHING
    except SelectorError:
        own = EVERYTHING
    return selector_from_labels(labels).with_requirements(*(own.requirements or ()))
