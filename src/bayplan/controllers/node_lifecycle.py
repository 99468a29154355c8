"""Taints nodes by condition, and evicts pods that do not tolerate a NoExecute taint.

Also deletes pods that are bound to a node that no longer exists.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from bayplan.client import NotFoundError
from bayplan.controllers.api_objects import Object, path_of
from bayplan.controllers.controller import Controller
from bayplan.controllers.pod_view import PodView
from bayplan.model import Node
from bayplan.model.kube_object import condition_of
from bayplan.model.taints import Taint, tolerates
from bayplan.model.times import format_time, parse_time

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
#: Condition, the status that taints, the taint's key.
PRESSURES: Final = (
    ("MemoryPressure", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "node.kubernetes.io/disk-pressure"),
    ("PIDPressure", "node.kubernetes.io/pid-pressure"),
    ("NetworkUnavailable", "node.kubernetes.io/network-unavailable"),
)
#: Keys of taints that are derived from conditions and removed with them.
OURS: Final = frozenset({NOT_READY, UNREACHABLE, UNSCHEDULABLE, *(key for _, key in PRESSURES)})
NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"


class NodeLifecycleController(Controller):
    """See the module docstring. A key is `node name`, or `pod namespace/name`."""

    name = "node-controller"

    def watch(self) -> None:
        #: Node → keys of the pods on it.
        self._on_node: dict[str, set[str]] = {}
        #: Nodes that have been announced.
        self._registered: set[str] = set()
        self._nodes = self.nodes(self._node_changed)
        self._pods = self.pods(self._pod_changed)

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        node = new if new is not None else old
        if node is not None:
            self.queue.add(f"node {node.name}")
            if old is None or new is None or old.spec.taints != new.spec.taints:
                for key in self._on_node.get(node.name, ()):
                    self.queue.add(f"pod {key}")

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        if old is not None and old.spec.node_name and (new is None or new.spec.node_name != old.spec.node_name):
            self._on_node.get(old.spec.node_name, set()).discard(old.key)
        if new is None or not new.spec.node_name:
            return
        if old is None or old.spec.node_name != new.spec.node_name:
            self._on_node.setdefault(new.spec.node_name, set()).add(new.key)
            self.queue.add(f"pod {new.key}")

    async def reconcile(self, key: str) -> float | None:
        kind, _, where = key.partition(" ")
        if kind == "node":
            node = self._nodes.get(where)
            if node is None:
                self._registered.discard(where)
                return None
            await self._register(node)
            await self._taint(node)
            return None
        namespace, _, name = where.partition("/")
        pod = self._pods.get(name, namespace)
        return await self._evict(pod) if pod is not None and not pod.is_deleted else None

    async def _register(self, node: Node) -> None:
        """Emit an event once for every new node."""
        if node.name in self._registered:
            return
        self._registered.add(node.name)
        about = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.metadata.uid}
        await self.events.emit(
            about, "RegisteredNode", f"Node {node.name} event: Registered Node {node.name} in Controller"
        )

    # --- taints -------------------------------------------------------------------------------------------

    async def _taint(self, node: Node) -> None:
        wanted = set(wanted_taints(node))
        present = {(taint.key, taint.effect) for taint in node.spec.taints if taint.key in OURS}
        if wanted == present:
            return
        now = format_time(datetime.fromtimestamp(self.clock.now(), UTC))
        kept = [
            _plain(taint)
            for taint in node.spec.taints
            if (taint.key, taint.effect) in wanted or taint.key not in OURS
        ]
        added: list[Object] = []
        for key, effect in sorted(wanted - present):
            added.append({"key": key, "effect": effect, "timeAdded": now})
        patch = {"metadata": {"resourceVersion": node.metadata.resource_version}, "spec": {"taints": kept + added}}
        await self.client.request("PATCH", path_of("v1", "nodes", "", node.name), patch)

    # --- pods on tainted nodes ----------------------------------------------------------------------------

    async def _evict(self, pod: PodView) -> float | None:
        """Delete the pod if it does not tolerate its node; returns the seconds until its toleration ends."""
        node = self._nodes.get(pod.spec.node_name)
        if node is None:
            if not await self._node_is_there(pod.spec.node_name):
                await self._delete(pod, grace_seconds=0)
            return None
        left: float | None = None
        for taint in node.spec.taints:
            if taint.effect == NO_EXECUTE:
                seconds = self._tolerated_for(pod, taint)
                if seconds is not None and seconds <= 0:
                    await self._delete(pod)
                    return None
                if seconds is not None:
                    left = seconds if left is None else min(left, seconds)
        return left

    def _tolerated_for(self, pod: PodView, taint: Taint) -> float | None:
        """Seconds; None means forever."""
        matching = [each for each in pod.spec.tolerations if tolerates(each, taint)]
        if not matching:
            return 0.0
        limits = [each.toleration_seconds for each in matching if each.toleration_seconds is not None]
        if not limits:
            return None
        added = parse_time(taint.time_added).timestamp() if taint.time_added else self.clock.now()
        return added + max(min(limits), 0) - self.clock.now()

    async def _node_is_there(self, name: str) -> bool:
        try:
            await self.client.request("GET", path_of("v1", "nodes", "", name))
        except NotFoundError:
            return False
        return True

    async def _delete(self, pod: PodView, grace_seconds: int | None = None) -> None:
        body: Object = {"preconditions": {"uid": pod.uid}}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        try:
            await self.client.request("DELETE", path_of("v1", "pods", pod.namespace, pod.name), body)
        except NotFoundError:
            return


def wanted_taints(node: Node) -> list[tuple[str, str]]:
    """Key and effect of the taints for the node's conditions and cordon."""
    taints = []
    ready = condition_of(node.status.conditions, "Ready")
    if ready is not None and ready.status != "True":
        key = UNREACHABLE if ready.status == "Unknown" else NOT_READY
        taints += [(key, NO_SCHEDULE), (key, NO_EXECUTE)]
    for type, key in PRESSURES:
        condition = condition_of(node.status.conditions, type)
        if condition is not None and condition.status == "True":
            taints.append((key, NO_SCHEDULE))
    if node.spec.unschedulable:
        taints.append((UNSCHEDULABLE, NO_SCHEDULE))
    return taints


def _plain(taint: Taint) -> Object:
    parts = {"key": taint.key, "value": taint.value, "effect": taint.effect, "timeAdded": taint.time_added}
    return {key: value for key, value in parts.items() if value}
