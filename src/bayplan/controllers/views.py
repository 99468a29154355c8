"""A pod as controllers and simulated kubelets see it: a fraction of the object, for tens of thousands of them."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from bayplan.model import ObjectError
from bayplan.model.meta import Condition, ObjectMeta, condition_of
from bayplan.model.taints import Toleration
from bayplan.model.times import time_of
from bayplan.watch.decoder import read_head
from bayplan.watch.identity import Identity
from bayplan.watch.resource import WatchedResource

ENDED_PHASES: Final = ("Succeeded", "Failed")


class _Container(msgspec.Struct, frozen=True, gc=False):
    name: str
    image: str = ""
    restart_policy: str | None = msgspec.field(name="restartPolicy", default=None)


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] = ()
    node_name: str = ""
    restart_policy: str = "Always"
    tolerations: tuple[Toleration, ...] = ()
    affinity: dict[str, Any] | None = None


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    start_time: str | None = None


class PodView(msgspec.Struct, frozen=True):
    """What of a pod its controller and its node act upon."""

    metadata: ObjectMeta
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def is_deleted(self) -> bool:
        """Being deleted: it may go on for its grace period."""
        return self.metadata.deletion_timestamp is not None

    @property
    def has_ended(self) -> bool:
        return self.status.phase in ENDED_PHASES

    @property
    def is_active(self) -> bool:
        """Counts as one of its controller's replicas."""
        return not self.is_deleted and not self.has_ended

    @property
    def is_ready(self) -> bool:
        ready = condition_of(self.status.conditions, "Ready")
        return ready is not None and ready.status == "True"

    def ready_for(self, now: float) -> float:
        """Seconds since it became ready; below 0 if it is not."""
        ready = condition_of(self.status.conditions, "Ready")
        if ready is None or ready.status != "True":
            return -1.0
        since = time_of(ready.last_transition_time)
        return max(now - since.timestamp(), 0.0) if since is not None else 0.0


_DECODER: Final = msgspec.json.Decoder(PodView)


def _decode(data: bytes) -> PodView:
    try:
        return _DECODER.decode(data)
    except msgspec.DecodeError as error:
        raise ObjectError("Pod", read_head(data).key, "", str(error)) from None


def _identify(pod: PodView) -> Identity:
    return Identity(pod.key, pod.metadata.resource_version, pod.uid)


#: Every pod of the cluster, ended ones included.
PODS: Final = WatchedResource("Pod", "/api/v1/pods", _decode, _identify)
