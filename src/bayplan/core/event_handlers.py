"""Event handlers: what a change of the cluster means for the cache and for the queue.

In: an object before and after, in the order of the watch. The cache is updated first, so that a pod that the
queue wakes finds the cluster as it is now; only a deleted node stays until the queue has been notified.
"""

from __future__ import annotations

from collections.abc import Container
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from bayplan.core.cluster_changes import object_changes, pod_changes, resource_change
from bayplan.framework.object_selection import ObjectSelection
from bayplan.model import KubeObject, Node, Pod
from bayplan.observe import klog
from bayplan.queue import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE

if TYPE_CHECKING:
    from bayplan.cache.object_store import ObjectStore, ObjectStores
    from bayplan.core.parts import CoreParts

log = klog.get_logger("bayplan.core")


class EventHandlers:
    """Keeps cache, objects and queue in step with the cluster."""

    def __init__(
        self,
        parts: CoreParts,
        objects: ObjectStores,
        schedulers: Container[str],
    ) -> None:
        """*schedulers*: the schedulerNames whose pods are ours."""
        self._cache = parts.cache
        self._objects = objects
        self._queue = parts.queue
        self._waiting_pods = parts.waiting_pods
        self._pods = parts.pods
        self._schedulers = schedulers
        self._observer = parts.observer

    def object_changed(self, old: KubeObject | None, new: KubeObject | None) -> None:
        """An object was created (*old* is None), updated or deleted (*new* is None)."""
        changed = new if new is not None else old
        if isinstance(changed, Pod):
            if self._objects.is_requested(Pod):
                (self._objects.set if new is not None else self._objects.remove)(changed)
            self._pod_changed(cast("Pod | None", old), cast("Pod | None", new))
        elif isinstance(changed, Node):
            if self._objects.is_requested(Node):
                (self._objects.set if new is not None else self._objects.remove)(changed)
            self._node_changed(cast("Node | None", old), cast("Node | None", new))
        elif changed is not None:
            (self._objects.set if new is not None else self._objects.remove)(changed)
            self.notify_queue(old, new)

    def custom_object_changed(
        self, api_version: str, plural: str, old: dict[str, Any] | None, new: dict[str, Any] | None
    ) -> None:
        """A custom resource changed; plugins register for it as `plural.version.group`."""
        present = new if new is not None else old
        if present is not None:
            _store(self._objects.custom(api_version, plural), present, is_there=new is not None)
            self._notify_queue_of_resource(ObjectSelection(api_version, plural).resource, old, new)

    def selected_object_changed(self, selection: ObjectSelection, old: Any, new: Any) -> None:
        """An object of a selection that plugins have asked for changed, entered it or left it."""
        present = new if new is not None else old
        if present is None:
            return
        _store(self._objects.selected(selection), present, is_there=new is not None)
        if isinstance(present, Pod | Node):
            return  # the queue is notified of every pod and node anyway
        if isinstance(present, KubeObject):
            self.notify_queue(old, new)
        else:
            self._notify_queue_of_resource(selection.resource, old, new)

    def _notify_queue_of_resource(self, resource: str, old: object, new: object) -> None:
        self._queue.move_all_to_active_or_backoff(resource_change(resource, old, new), old, new)

    def replay_known_objects(self) -> None:
        """A plugin may have asked for pods or nodes just now: it gets those that are there already."""
        nodes = (info.node for info in self._cache.snapshot().nodes)
        for kind, values in ((Pod, self._pods.values()), (Node, nodes)):
            if self._objects.is_requested(kind):
                known = self._objects.lister(kind)
                for value in list(values):
                    if known.get(value.name, value.namespace) is not value:
                        self._objects.set(value)

    def _handled(self, event: str, start: float) -> None:
        if self._observer is not None:
            self._observer.event_handled(event, perf_counter() - start)

    def notify_queue(self, old: KubeObject | None, new: KubeObject | None) -> None:
        """Report a change to the queue; the cache and the stores have it already."""
        for event in object_changes(old, new):
            start = perf_counter()
            self._queue.move_all_to_active_or_backoff(event, old, new)
            self._handled(event.label, start)

    # --- nodes ------------------------------------------------------------------------------------

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        if log.verbosity >= 3:
            _log_change("node", old, new, node=new if new is not None else old)
        if new is not None:
            self._cache.set_node(new)
        self.notify_queue(old, new)
        if new is None and old is not None:
            self._cache.remove_node(old.name)

    # --- pods -------------------------------------------------------------------------------------

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            if old is not None:
                self._pod_deleted(old)
            return
        self._pods[new.key] = new
        if old is not None and old.node_name:
            if log.verbosity >= 3:
                _log_change("scheduled pod", old, new, pod=old)
            self._cache.add_pod(new)
            self.notify_queue(old, new)
        elif new.node_name:
            self._pod_bound(old, new)
        elif new.spec.scheduler_name in self._schedulers:
            self._waiting_pod_changed(old, new)

    def _pod_bound(self, old: Pod | None, new: Pod) -> None:
        start = perf_counter()
        if log.verbosity >= 3:
            _log_change("scheduled pod", None, new, pod=new)
        self._cache.add_pod(new)
        self._queue.move_all_to_active_or_backoff(ASSIGNED_POD_ADD, None, new)
        self._handled(ASSIGNED_POD_ADD.label, start)
        if old is not None and old.spec.scheduler_name in self._schedulers:
            if log.verbosity >= 3:
                _log_change("unscheduled pod", old, None, pod=old)
            self._queue.delete(old)

    def _waiting_pod_changed(self, old: Pod | None, new: Pod) -> None:
        start = perf_counter()
        if log.verbosity >= 3:
            _log_change("unscheduled pod", old, new, pod=new)
        self._apply_waiting(old, new)
        self._handled("UnschedulablePodAdd" if old is None else "UnschedulablePodUpdate", start)

    def _apply_waiting(self, old: Pod | None, new: Pod) -> None:
        if old is None:
            self._queue.add(new)
        elif self._cache.is_assumed(new.uid):
            if new.is_terminating and not old.is_terminating:
                self._assumed_pod_leaves(new)
        elif old.resource_version != new.resource_version:
            nominated = "" if self._queue.is_nomination_withdrawn(old) else old.status.nominated_node_name
            self._queue.update(old, new, pod_changes(old, new))
            if nominated and nominated != new.status.nominated_node_name:
                self._nomination_gone(old)

    def _assumed_pod_leaves(self, pod: Pod) -> None:
        """The pod will never run: its resources are free, whatever becomes of its bind."""
        waiting = self._waiting_pods.get(pod.uid)
        was_waiting = waiting is not None and waiting.reject("", "removed")
        if not was_waiting and self._cache.is_assumed(pod.uid):
            self._cache.forget(pod.uid)
        self._queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, pod, None)

    def _pod_deleted(self, pod: Pod) -> None:
        self._pods.pop(pod.key, None)
        if pod.node_name:
            if log.verbosity >= 3:
                _log_change("scheduled pod", pod, None, pod=pod)
            self._cache.remove_pod(pod.uid)
            self.notify_queue(pod, None)
        elif pod.spec.scheduler_name in self._schedulers:
            if log.verbosity >= 3:
                _log_change("unscheduled pod", pod, None, pod=pod)
            self._queue.delete(pod)
            if self._cache.is_assumed(pod.uid):
                self._assumed_pod_leaves(pod)
            elif pod.status.nominated_node_name:
                self._nomination_gone(pod)

    def _nomination_gone(self, pod: Pod) -> None:
        """Pods of no higher priority had to leave room for the pod where it was nominated."""
        self._queue.move_all_to_active_or_backoff(
            ASSIGNED_POD_DELETE, pod, None, lambda other: other.pod.priority <= pod.priority
        )


def _store(store: ObjectStore[Any], value: Any, *, is_there: bool) -> None:
    if isinstance(value, KubeObject):
        namespace, name = value.namespace, value.name
    else:
        namespace, name = value["metadata"].get("namespace", ""), value["metadata"]["name"]
    if is_there:
        store.set(namespace, name, value)
    else:
        store.remove(namespace, name)


def _log_change(what: str, old: object | None, new: object | None, **pairs: object) -> None:
    """As kube-scheduler logs informer events; updates are too many for V(3)."""
    action, v = ("Add", 3) if old is None else ("Delete", 3) if new is None else ("Update", 4)
    if log.verbosity >= v:
        log.info(f"{action} event for {what}", v=v, depth=1, **pairs)
