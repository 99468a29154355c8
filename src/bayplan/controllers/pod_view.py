"""PodView: the part of a pod that controllers and simulated kubelets need, small enough for tens of thousands."""

from __future__ import annotations

from math import inf
from typing import Any, Final

import msgspec

from bayplan.model import ObjectError
from bayplan.model.kube_object import Condition, ObjectMeta, condition_of
from bayplan.model.taints import Toleration
from bayplan.model.times import time_of
from bayplan.watch.decoder import read_head
from bayplan.watch.local_store import ObjectIdentity, WatchedResource

ENDED_PHASES: Final = ("Succeeded", "Failed")


class _PodViewPort(msgspec.Struct, frozen=True, rename="camel", gc=False):
    container_port: int
    name: str = ""


class _PreStopSleep(msgspec.Struct, frozen=True, gc=False):
    seconds: int = 0


class _LifecycleHandler(msgspec.Struct, frozen=True, gc=False):
    sleep: _PreStopSleep | None = None


class _Lifecycle(msgspec.Struct, frozen=True, rename="camel", gc=False):
    pre_stop: _LifecycleHandler | None = None


class _PodViewContainer(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    image: str = ""
    restart_policy: str | None = None
    ports: tuple[_PodViewPort, ...] = ()
    lifecycle: _Lifecycle | None = None


class _ClaimSource(msgspec.Struct, frozen=True, rename="camel", gc=False):
    claim_name: str


class _PodViewVolume(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    persistent_volume_claim: _ClaimSource | None = None
    ephemeral: dict[str, Any] | None = None


class PodViewClaim(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """An entry of a pod's `resourceClaims`: a claim, or a template to make one from."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class _PodClaimStatus(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    resource_claim_name: str | None = None


class _ExtendedResourceClaim(msgspec.Struct, frozen=True, rename="camel", gc=False):
    resource_claim_name: str = ""


class _PodViewSpec(msgspec.Struct, frozen=True, rename="camel"):
    containers: tuple[_PodViewContainer, ...] = ()
    init_containers: tuple[_PodViewContainer, ...] = ()
    node_name: str = ""
    restart_policy: str = "Always"
    tolerations: tuple[Toleration, ...] = ()
    affinity: dict[str, Any] | None = None
    resource_claims: tuple[PodViewClaim, ...] = ()
    volumes: tuple[_PodViewVolume, ...] = ()


class _PodViewStatus(msgspec.Struct, frozen=True, rename="camel"):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    start_time: str | None = None
    pod_ip: str = msgspec.field(name="podIP", default="")
    resource_claim_statuses: tuple[_PodClaimStatus, ...] = ()
    extended_resource_claim_status: _ExtendedResourceClaim | None = None


class PodView(msgspec.Struct, frozen=True):
    """The fields of a pod that its controller and its node act on."""

    metadata: ObjectMeta
    spec: _PodViewSpec = _PodViewSpec()
    status: _PodViewStatus = _PodViewStatus()

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
        """Whether it is being deleted; it may run on for its grace period."""
        return self.metadata.deletion_timestamp is not None

    @property
    def has_ended(self) -> bool:
        return self.status.phase in ENDED_PHASES

    @property
    def is_active(self) -> bool:
        """Whether it counts as one of its controller's replicas."""
        return not self.is_deleted and not self.has_ended

    @property
    def is_ready(self) -> bool:
        ready = condition_of(self.status.conditions, "Ready")
        return ready is not None and ready.status == "True"

    @property
    def is_done(self) -> bool:
        """Whether it is certain that its containers do not run and never will."""
        return self.has_ended or (self.is_deleted and not self.spec.node_name)

    @property
    def pre_stop_seconds(self) -> int:
        """How long its longest preStop hook sleeps."""
        hooks = (each.lifecycle.pre_stop for each in self.spec.containers if each.lifecycle is not None)
        sleeps = (hook.sleep.seconds for hook in hooks if hook is not None and hook.sleep is not None)
        return max(sleeps, default=0)

    @property
    def volume_claims(self) -> list[str]:
        """The names of its PersistentVolumeClaims, those of ephemeral volumes included."""
        names = []
        for volume in self.spec.volumes:
            if volume.persistent_volume_claim is not None:
                names.append(volume.persistent_volume_claim.claim_name)
            elif volume.ephemeral is not None:
                names.append(f"{self.name}-{volume.name}")
        return names

    def claim_name(self, claim: PodViewClaim) -> str | None:
        """The name of the claim of an entry; None if it has not been made, empty if none is needed."""
        if claim.resource_claim_template_name is None:
            return claim.resource_claim_name
        known = (each for each in self.status.resource_claim_statuses if each.name == claim.name)
        return next((each.resource_claim_name or "" for each in known), None)

    @property
    def claim_names(self) -> list[str]:
        """The names of all its claims that have been made, that for extended resources included."""
        names = [self.claim_name(claim) for claim in self.spec.resource_claims]
        extended = self.status.extended_resource_claim_status
        return [name for name in (*names, extended.resource_claim_name if extended else None) if name]

    @property
    def ready_since(self) -> float | None:
        """When it became ready, infinity if that is not known; None if it is not ready."""
        ready = condition_of(self.status.conditions, "Ready")
        if ready is None or ready.status != "True":
            return None
        since = time_of(ready.last_transition_time)
        return since.timestamp() if since is not None else inf


_DECODER: Final = msgspec.json.Decoder(PodView)


def _decode(data: bytes) -> PodView:
    try:
        return _DECODER.decode(data)
    except msgspec.DecodeError as error:
        raise ObjectError("Pod", read_head(data).key, "", str(error)) from None


def _identify(pod: PodView) -> ObjectIdentity:
    return pod.key, pod.uid, pod.metadata.resource_version


#: Every pod of the cluster, finished ones included.
PODS: Final = WatchedResource("Pod", "/api/v1/pods", _decode, _identify)
