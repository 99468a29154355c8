"""Handlers: what a change in the cluster means for the cache and for the queue.

Comes in: an object before and after, in the order of the watch. The cache is told first, so that a pod that the
queue wakes finds the cluster as it is now; only a node that goes stays until the queue has heard of it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Final, cast

from bayplan.framework import Resource
from bayplan.model import KubeObject, Node, Pod
from bayplan.observe import klog
from bayplan.queue import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, SchedulingQueue
from bayplan.watch.changes import object_changes, pod_changes, resource_change

if TYPE_CHECKING:
    from bayplan.cache import Cache
    from bayplan.cache.objects import Objects

log = klog.get_logger("bayplan.watch")

#: Resources that are watched as plain dictionaries and have a name of their own: (group, plural) → name.
WELL_KNOWN: Final = {
    ("resource.k8s.io", "deviceclasses"): Resource.DEVICE_CLASS,
    ("resource.k8s.io", "resourceclaims"): Resource.RESOURCE_CLAIM,
    ("resource.k8s.io", "resourceslices"): Resource.RESOURCE_SLICE,
}


class ClusterHandlers:
    """Keeps cache and queue in step with the cluster."""

    def __init__(
        self,
        cache: Cache,
        objects: Objects,
        queue: SchedulingQueue,
        is_ours: Callable[[str], bool],
        give_up: Callable[[Pod], bool],
        on_handled: Callable[[str, float], None] = lambda event, seconds: None,
    ) -> None:
        self._cache = cache
        self._objects = objects
        self._queue = queue
        #: Whether pods with this schedulerName are for us.
        self._is_ours = is_ours
        #: Ends the waiting of an assumed pod that is being deleted; False if it does not wait.
        self._give_up = give_up
        #: Told which event took how many seconds.
        self._on_handled = on_handled
        #: Every pod as the watch last showed it, by key.
        self.pods: dict[str, Pod] = {}

    def apply(self, old: KubeObject | None, new: KubeObject | None) -> None:
        """An object was created (*old* is None), updated or deleted (*new* is None)."""
        changed = new if new is not None else old
        if isinstance(changed, Pod):
            if self._objects.is_asked_for(Pod):
                (self._objects.set if new is not None else self._objects.remove)(changed)
            self._pod_changed(cast("Pod | None", old), cast("Pod | None", new))
        elif isinstance(changed, Node):
            self._node_changed(cast("Node | None", old), cast("Node | None", new))
        elif changed is not None:
            (self._objects.set if new is not None else self._objects.remove)(changed)
            self._tell(old, new)

    def apply_custom(self, api_version: str, plural: str, old: object | None, new: object | None) -> None:
        """A custom resource changed; plugins register for it as `plural.version.group`."""
        group, _, version = api_version.rpartition("/")
        name = ".".join(part for part in (plural, version, group) if part)
        event = resource_change(WELL_KNOWN.get((group, plural), name), old, new)
        self._queue.move_all_to_active_or_backoff(event, old, new)

    def _tell(self, old: KubeObject | None, new: KubeObject | None) -> None:
        for event in object_changes(old, new):
            start = perf_counter()
            self._queue.move_all_to_active_or_backoff(event, old, new)
            self._on_handled(event.label, perf_counter() - start)

    # --- nodes ------------------------------------------------------------------------------------

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        _log_change("node", old, new, node=new if new is not None else old)
        if new is not None:
            self._cache.set_node(new)
        self._tell(old, new)
        if new is None and old is not None:
            self._cache.remove_node(old.name)

    # --- pods -------------------------------------------------------------------------------------

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            if old is not None:
                self._pod_deleted(old)
            return
        self.pods[new.key] = new
        if old is not None and old.node_name:
            _log_change("scheduled pod", old, new, pod=old)
            self._cache.update_pod(new)
            self._tell(old, new)
        elif new.node_name:
            self._pod_bound(old, new)
        elif self._is_ours(new.spec.scheduler_name):
            self._waiting_pod_changed(old, new)

    def _pod_bound(self, old: Pod | None, new: Pod) -> None:
        start = perf_counter()
        _log_change("scheduled pod", None, new, pod=new)
        self._cache.add_pod(new)
        self._queue.move_all_to_active_or_backoff(ASSIGNED_POD_ADD, None, new)
        self._on_handled(ASSIGNED_POD_ADD.label, perf_counter() - start)
        if old is not None and self._is_ours(old.spec.scheduler_name):
            _log_change("unscheduled pod", old, None, pod=old)
            self._queue.delete(old)

    def _waiting_pod_changed(self, old: Pod | None, new: Pod) -> None:
        start = perf_counter()
        _log_change("unscheduled pod", old, new, pod=new)
        self._apply_waiting(old, new)
        self._on_handled(
            "UnschedulablePodAdd" if old is None else "UnschedulablePodUpdate", perf_counter() - start
        )

    def _apply_waiting(self, old: Pod | None, new: Pod) -> None:
        if old is None:
            self._queue.add(new)
        elif self._cache.is_assumed(new.uid):
            if new.is_terminating and not old.is_terminating:
                self._assumed_pod_leaves(new)
        elif old.resource_version != new.resource_version:
            nominated = "" if self._queue.is_nomination_old(old) else old.status.nominated_node_name
            self._queue.update(old, new, pod_changes(old, new))
            if nominated and nominated != new.status.nominated_node_name:
                self._nomination_gone(old)

    def _assumed_pod_leaves(self, pod: Pod) -> None:
        """Nobody will run it: its place is free, bind or no bind."""
        if not self._give_up(pod) and self._cache.is_assumed(pod.uid):
            self._cache.forget(pod.uid)
        self._queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, pod, None)

    def _pod_deleted(self, pod: Pod) -> None:
        self.pods.pop(pod.key, None)
        if pod.node_name:
            _log_change("scheduled pod", pod, None, pod=pod)
            self._cache.remove_pod(pod.uid)
            self._tell(pod, None)
        elif self._is_ours(pod.spec.scheduler_name):
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


def _log_change(what: str, old: object | None, new: object | None, **pairs: object) -> None:
    """As kube-scheduler logs what its informers tell; updates are too many for V(3)."""
    action, v = ("Add", 3) if old is None else ("Delete", 3) if new is None else ("Update", 4)
    if log.enabled(v):
        log.info(f"{action} event for {what}", v=v, depth=1, **pairs)
