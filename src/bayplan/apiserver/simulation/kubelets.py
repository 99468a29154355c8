"""Simulated kubelets: ready nodes that renew their leases, and pods that start, end and stop without machines.

One controller simulates every node. Annotations control it:

- on a node, `bayplan.dev/simulate: NotReady` or `Unreachable`: the node fails until the annotation is removed;
- on a pod, `bayplan.dev/run-seconds: "30"`: its containers end after that time (a Job's pods after five seconds by
  default), and `bayplan.dev/exit-code: "1"` makes that a failure.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from bayplan.client import JSON, STRATEGIC_PATCH, ConflictError, KubeClient, NotFoundError
from bayplan.controllers.api_objects import Object, path_of
from bayplan.controllers.controller import Controller
from bayplan.controllers.pod_view import PodView
from bayplan.controllers.resource_claims import CLAIMS, RESOURCE
from bayplan.framework import Clock
from bayplan.model import Node
from bayplan.model.kube_object import condition_of
from bayplan.model.times import format_micro_time, format_time, time_of
from bayplan.release import DEFAULT, Release
from bayplan.watch.informers import InformerFactory

SIMULATE: Final = "bayplan.dev/simulate"
RUN_SECONDS: Final = "bayplan.dev/run-seconds"
EXIT_CODE: Final = "bayplan.dev/exit-code"
NOT_READY: Final = "NotReady"
UNREACHABLE: Final = "Unreachable"

LEASES: Final = "coordination.k8s.io/v1"
LEASE_NAMESPACE: Final = "kube-node-lease"
LEASE_SECONDS: Final = 40
#: A real kubelet renews every ten seconds; thousands of them in one process renew less often.
RENEW_SECONDS: Final = 10.0
RENEWALS_PER_SECOND: Final = 50.0
#: How long a Job's pod runs without the annotation.
JOB_SECONDS: Final = 5.0

#: The size of a node that was created without one.
DEFAULT_CAPACITY: Final = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}


class Pace(msgspec.Struct, frozen=True):
    """How long starting and stopping a pod takes."""

    start_seconds: float = 0.5
    #: Never longer than the grace period.
    stop_seconds: float = 0.5


class Kubelets(Controller):
    """See the module docstring. A key is `node name` or `pod namespace/name`."""

    name = "kubelet"

    def __init__(
        self,
        client: KubeClient,
        informers: InformerFactory,
        clock: Clock,
        pace: Pace | None = None,
        release: Release = DEFAULT,
    ) -> None:
        self._node_info = {**NODE_INFO, "kubeletVersion": f"v{release.version}"}
        self._pace = pace if pace is not None else Pace()
        self._addresses = itertools.count(1)
        #: Pod uid → when it was first seen on its node.
        self._arrived: dict[str, float] = {}
        #: Node → keys of the pods on it: they are frozen while it is unreachable.
        self._on_node: dict[str, set[str]] = {}
        #: uid of a node that has a lease → when it was renewed.
        self._renewed: dict[str, float] = {}
        #: Node → extended resources of its capacity that it was created without: they are allocatable as a whole.
        self._extended: dict[str, Object] = {}
        super().__init__(client, informers, clock)

    def watch(self) -> None:
        self._nodes = self.nodes(self._node_changed)
        self._pods = self.pods(self._pod_changed)
        self._claims = self._informers.custom(RESOURCE, CLAIMS)
        self._claims.add(self._claim_changed)

    def known_nodes(self) -> Sequence[Node]:
        return self._nodes.list()

    def known_pods(self) -> Sequence[PodView]:
        return self._pods.list()

    # --- watching -----------------------------------------------------------------------------------------

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        node = new if new is not None else old
        if node is None:
            return
        self.queue.add(f"node {node.name}")
        if new is None:
            self._renewed.pop(node.uid, None)
        if new is not None and (old is None or _fault(old) != _fault(new)):
            for key in self._on_node.get(node.name, ()):
                self.queue.add(f"pod {key}")

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        pod = new if new is not None else old
        if pod is None or not pod.spec.node_name:
            return
        if new is None:
            self._arrived.pop(pod.uid, None)
            self._on_node.get(pod.spec.node_name, set()).discard(pod.key)
            return
        if pod.uid not in self._arrived:
            self._arrived[pod.uid] = self.clock.now()
            self._on_node.setdefault(pod.spec.node_name, set()).add(pod.key)
        self.queue.add(f"pod {pod.key}")

    def _claim_changed(self, _old: Object | None, new: Object | None) -> None:
        """A pod that waits for its claims may go on."""
        for consumer in ((new or {}).get("status") or {}).get("reservedFor") or ():
            key = f"{(new or {})['metadata']['namespace']}/{consumer['name']}"
            if consumer["uid"] in self._arrived:
                self.queue.add(f"pod {key}")

    async def reconcile(self, key: str) -> float | None:
        kind, _, where = key.partition(" ")
        if kind == "node":
            node = self._nodes.get(where)
            return await self._keep(node) if node is not None else None
        namespace, _, name = where.partition("/")
        pod = self._pods.get(name, namespace)
        node = self._nodes.get(pod.spec.node_name) if pod is not None else None
        if pod is None or node is None or _fault(node) == UNREACHABLE:
            return None
        return await self._drive(pod, node)

    # --- nodes --------------------------------------------------------------------------------------------

    async def _keep(self, node: Node) -> float | None:
        """Report the node's status if it has changed, and renew its lease."""
        status = self._node_status(node)
        if status is not None:
            path = path_of("v1", "nodes", "", node.name, "status")
            with contextlib.suppress(NotFoundError):
                await self.client.request("PATCH", path, {"status": status}, content_type=STRATEGIC_PATCH)
            return None  # The change comes back; its lease is renewed then, after all nodes are ready.
        if _fault(node) == UNREACHABLE:
            return None
        every = max(RENEW_SECONDS, len(self._nodes) / RENEWALS_PER_SECOND)
        left = self._renewed.get(node.uid, 0.0) + every - self.clock.now()
        if left > 0:
            return left
        await self._renew(node)
        return every

    def _node_status(self, node: Node) -> Object | None:
        ready, reason, message = _readiness(_fault(node))
        known = condition_of(node.status.conditions, "Ready")
        if known is not None and (known.status, known.reason) == (ready, reason):
            extended = self._extended_resources(node)
            return {"allocatable": extended} if extended else None
        now = self._time()
        times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
        conditions = [{"type": "Ready", "status": ready, "reason": reason, "message": message, **times}]
        if known is not None:
            return {"conditions": conditions}
        conditions[:0] = [
            {"type": type, "status": "False", "reason": reason, "message": message, **times}
            for type, reason, message in HEALTHY
        ]
        status: Object = {"conditions": conditions, "nodeInfo": self._node_info}
        if not node.status.allocatable:
            capacity = dict(node.status.capacity) or DEFAULT_CAPACITY
            status |= {"capacity": capacity, "allocatable": capacity}
        if not (node.whole.get("status") or {}).get("addresses"):
            number = next(self._addresses)
            address = f"10.{number >> 8 & 127}.{number & 255}.1"
            status["addresses"] = [
                {"type": "InternalIP", "address": address},
                {"type": "Hostname", "address": node.name},
            ]
        return status

    def _extended_resources(self, node: Node) -> Object:
        """What is to change in allocatable so that it follows capacity; an amount that was given stays."""
        capacity, allocatable = node.status.capacity, node.status.allocatable
        known = self._extended.get(node.name, {})
        wanted = {
            name: amount
            for name, amount in capacity.items()
            if "/" in name and (name in known or name not in allocatable)
        }
        if wanted or known:
            self._extended[node.name] = wanted
        gone = {name: None for name in known if name not in wanted and name in allocatable}
        return {**{name: amount for name, amount in wanted.items() if allocatable.get(name) != amount}, **gone}

    async def _renew(self, node: Node) -> None:
        now = self.clock.now()
        time = format_micro_time(datetime.fromtimestamp(now, UTC))
        spec = {"holderIdentity": node.name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": time}
        path = path_of(LEASES, "leases", LEASE_NAMESPACE)
        is_first = node.uid not in self._renewed
        self._renewed[node.uid] = now
        if is_first:
            owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
            meta = {"name": node.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]}
            body = {"apiVersion": LEASES, "kind": "Lease", "metadata": meta, "spec": spec}
            with contextlib.suppress(ConflictError):
                await self.client.request("POST", path, body, content_type=JSON)
                return
        try:
            await self.client.request("PATCH", f"{path}/{node.name}", {"spec": spec})
        except NotFoundError:
            # Somebody has deleted it: make a new one.
            self._renewed.pop(node.uid, None)
            self.queue.add(f"node {node.name}")

    # --- pods ---------------------------------------------------------------------------------------------

    async def _drive(self, pod: PodView, node: Node) -> float | None:
        """Move the pod to its next state if it is time; otherwise returns the seconds until then."""
        if pod.is_deleted:
            return await self._stop(pod)
        if pod.status.phase in ("", "Pending"):
            left = self._arrived[pod.uid] + self._pace.start_seconds - self.clock.now()
            if left > 0:
                return left
            if self._has_claims(pod):
                await self._write(pod, self._running(pod, node))
            return None
        if pod.status.phase == "Running":
            return await self._end(pod)
        return None

    def _has_claims(self, pod: PodView) -> bool:
        """Whether all its claims have devices, and these are reserved for it."""
        names = [pod.claim_name(entry) for entry in pod.spec.resource_claims]
        return None not in names and all(self._is_reserved(pod, name) for name in pod.claim_names)

    def _is_reserved(self, pod: PodView, claim_name: str) -> bool:
        status = (self._claims.get(claim_name, pod.namespace) or {}).get("status") or {}
        consumers = status.get("reservedFor") or ()
        return status.get("allocation") is not None and any(each["uid"] == pod.uid for each in consumers)

    async def _stop(self, pod: PodView) -> float | None:
        """Stop the pod after its stop time, or when the grace period is over."""
        deadline = time_of(pod.metadata.deletion_timestamp)
        grace = pod.metadata.deletion_grace_period_seconds or 0
        now = self.clock.now()
        deletion_began = deadline.timestamp() - grace if deadline is not None else now
        left = deletion_began + min(grace, pod.pre_stop_seconds + self._pace.stop_seconds) - now
        if left > 0:
            return left
        path = path_of("v1", "pods", pod.namespace, pod.name)
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}}
        try:
            await self.client.request("DELETE", path, body)
        except (NotFoundError, ConflictError):
            return None
        return None

    async def _end(self, pod: PodView) -> float | None:
        """End a pod whose containers exit by themselves."""
        seconds = _run_seconds(pod)
        started = time_of(pod.status.start_time)
        if seconds is None or started is None:
            return None
        left = started.timestamp() + seconds - self.clock.now()
        if left > 0:
            return left
        code = _integer(pod.metadata.annotations.get(EXIT_CODE, "0"))
        if code and pod.spec.restart_policy != "Never":
            return None  # It would be restarted, and end again, forever.
        if not code and pod.spec.restart_policy == "Always":
            return None
        await self._write(pod, self._ended(pod, code))
        return None

    async def _write(self, pod: PodView, status: Object) -> None:
        path = path_of("v1", "pods", pod.namespace, pod.name, "status")
        patch = {"metadata": {"uid": pod.uid}, "status": status}
        try:
            await self.client.request("PATCH", path, patch, content_type=STRATEGIC_PATCH)
        except (NotFoundError, ConflictError):
            return

    # --- statuses -----------------------------------------------------------------------------------------

    def _time(self) -> str:
        return format_time(datetime.fromtimestamp(self.clock.now(), UTC))

    def _running(self, pod: PodView, node: Node) -> Object:
        now = self._time()
        number = next(self._addresses)
        address = f"10.{128 + (number >> 16 & 127)}.{number >> 8 & 255}.{number & 255}"
        running: Object = {"running": {"startedAt": now}}
        status: Object = {
            "phase": "Running",
            "startTime": now,
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": [
                {"type": type, "status": "True", "lastTransitionTime": now}
                for type in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
            ],
            "containerStatuses": [_container(each, running, is_ready=True) for each in pod.spec.containers],
        }
        if pod.spec.init_containers:
            done = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}}
            status["initContainerStatuses"] = [
                _container(each, running if each.restart_policy == "Always" else done, is_ready=True)
                for each in pod.spec.init_containers
            ]
        return status

    def _ended(self, pod: PodView, code: int) -> Object:
        now = self._time()
        reason = "Error" if code else "Completed"
        why = "PodFailed" if code else "PodCompleted"
        terminated = {
            "exitCode": code,
            "reason": reason,
            "startedAt": pod.status.start_time,
            "finishedAt": now,
        }
        return {
            "phase": "Failed" if code else "Succeeded",
            "conditions": [
                {"type": "Ready", "status": "False", "reason": why, "lastTransitionTime": now},
                {"type": "ContainersReady", "status": "False", "reason": why, "lastTransitionTime": now},
            ],
            "containerStatuses": [
                _container(each, {"terminated": terminated}, is_ready=False) for each in pod.spec.containers
            ],
        }


HEALTHY: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)

NODE_INFO: Final = {
    "architecture": "amd64",
    "bootID": "",
    "containerRuntimeVersion": "bayplan://simulated",
    "kernelVersion": "simulated",
    "kubeProxyVersion": "",
    "machineID": "",
    "operatingSystem": "linux",
    "osImage": "Bayplan simulated node",
    "systemUUID": "",
}


def _fault(node: Node) -> str:
    return node.metadata.annotations.get(SIMULATE, "")


def _readiness(fault: str) -> tuple[str, str, str]:
    """Status, reason and message of the condition Ready."""
    if fault == NOT_READY:
        return "False", "KubeletNotReady", "simulated: the annotation bayplan.dev/simulate says NotReady"
    if fault == UNREACHABLE:
        return "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."
    return "True", "KubeletReady", "kubelet is posting ready status"


def _run_seconds(pod: PodView) -> float | None:
    text = pod.metadata.annotations.get(RUN_SECONDS)
    if text is not None:
        try:
            return max(float(text), 0.0)
        except ValueError:
            return None
    owner = pod.metadata.controller
    return JOB_SECONDS if owner is not None and owner.kind == "Job" else None


def _integer(text: str) -> int:
    return int(text) if text.lstrip("-").isdigit() else 1


def _container(container: Any, state: Object, *, is_ready: bool) -> Object:
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "ready": is_ready,
        "started": is_ready,
        "restartCount": 0,
        "state": state,
    }
