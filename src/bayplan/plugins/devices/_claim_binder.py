"""PreBind for claims: writes allocations and reservations, and waits for devices that have to be attached."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bayplan.framework.logs import get_logger
from bayplan.model import CLAIM_FINALIZER, AllocationResult, Pod, ResourceClaim
from bayplan.model.times import format_time
from bayplan.model.wire_format import PROTOBUF, append_fields
from bayplan.plugins.devices._binding_conditions import (
    BindingConditionError,
    BindingTimeoutError,
    are_met,
    are_overdue,
)
from bayplan.plugins.devices._claim_additions import finalizer_for, has_parameters, reservation_for
from bayplan.plugins.devices._claim_metrics import ClaimMetrics
from bayplan.plugins.devices._extended_resources import is_special_name

if TYPE_CHECKING:
    from bayplan.framework import Handle
    from bayplan.plugins.devices._pod_claims import PodClaims

log = get_logger("bayplan.plugins")

STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
#: How often a write is tried again after a conflict, and how long to wait in between.
_TRIES: Final = 5
_PAUSE_SECONDS: Final = 0.01
#: How often binding conditions are looked at.
_POLL_SECONDS: Final = 5.0
#: How long to wait until the watch shows a claim that was created.
_SHOWN_SECONDS: Final = 120.0
_CONFLICT: Final = 409
_INVALID: Final = 422


class ClaimBindError(Exception):
    """A claim cannot be written."""


class ClaimBinder:
    """Writes claims."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._tracker = handle.devices.claims
        self._metrics = ClaimMetrics(handle)

    # --- PreBind ----------------------------------------------------------------------------------

    async def bind(self, state: PodClaims, i: int, pod: Pod) -> ResourceClaim:
        """Write the allocation of claim *i* and reserve it for the pod. Raises an exception that says why not."""
        claim, allocation = state.claims[i], state.allocations[i]
        is_special = claim is state.special
        if is_special and allocation is None and not claim.spec.devices.requests:
            return claim  # the node offers the resources itself
        uid, written = claim.uid, None
        try:
            if is_special and is_special_name(claim):
                claim = state.claims[i] = written = await self._create(state, claim)
            claim = written = await self._write(claim, allocation, pod)
        finally:
            if written is not None:
                await self._assume(written, is_special=is_special)
            if allocation is not None:
                self._tracker.drop_pending(uid)
        if is_special:
            await self._tell_pod(state, pod, claim)
        return claim

    async def _create(self, state: PodClaims, claim: ResourceClaim) -> ResourceClaim:
        """The special claim: the API server chooses its name."""
        wanted = state.special_on_node if state.special_on_node is not None else claim
        body = wanted.to_dict()
        body["metadata"] = {key: value for key, value in body["metadata"].items() if key not in ("name", "uid")}
        body.pop("status", None)
        path = f"/apis/{ResourceClaim.API_VERSION}/namespaces/{claim.namespace}/{ResourceClaim.PLURAL}"
        try:
            created = ResourceClaim.from_dict(await self._handle.client.request("POST", path, body))
        except Exception as error:
            self._metrics.claim_created("failure")
            raise ClaimBindError(f"create claim for extended resources {claim.key}: {error}") from error
        self._metrics.claim_created("success")
        return created

    async def _write(self, claim: ResourceClaim, allocation: AllocationResult | None, pod: Pod) -> ResourceClaim:
        for tries_left in range(_TRIES - 1, -1, -1):
            try:
                return await self._write_once(claim, allocation, pod)
            except ClaimBindError as error:
                if not _is_conflict(error.__cause__) or not tries_left:
                    raise
            await self._handle.clock.sleep(_PAUSE_SECONDS)
            claim = await self._read_again(claim)
        raise AssertionError("the last try returns or raises")

    async def _read_again(self, claim: ResourceClaim) -> ResourceClaim:
        try:
            return ResourceClaim.from_dict(await self._handle.client.request("GET", path_of(claim)))
        except Exception as error:
            raise ClaimBindError(f"get updated claim {claim.key} after conflict: {error}") from error

    async def _write_once(
        self, claim: ResourceClaim, allocation: AllocationResult | None, pod: Pod
    ) -> ResourceClaim:
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimBindError(f"claim {claim.key} got deleted in the meantime")
        if allocation is not None:
            if claim.status.allocation is not None:
                raise ClaimBindError(f"claim {claim.key} got allocated elsewhere in the meantime")
            claim = await self._add_finalizer(claim)
        elif claim.status.allocation is None:
            raise ClaimBindError(f"claim {claim.key} got deallocated elsewhere in the meantime")
        body = self._reserved(claim, allocation, pod)
        addition = reservation_for(claim, pod, self._handle.clock.now()) if allocation is None else b""
        try:
            return ResourceClaim.from_dict(await self._add(claim, body, addition, "/status"))
        except Exception as error:
            what = "allocation and reservation" if allocation is not None else "reservation"
            raise ClaimBindError(f"add {what} to claim {claim.key}: {error}") from error

    def _reserved(self, claim: ResourceClaim, allocation: AllocationResult | None, pod: Pod) -> dict[str, Any]:
        """The claim with the allocation, and the pod among those that may use it."""
        status = dict(claim.raw.get("status") or {})
        if allocation is not None:
            status["allocation"] = to_json(allocation)
        now = format_time(datetime.fromtimestamp(self._handle.clock.now(), UTC))
        status["allocation"] = {"allocationTimestamp": now, **status["allocation"]}
        consumer = {"resource": "pods", "name": pod.name, "uid": pod.uid}
        status["reservedFor"] = [*(status.get("reservedFor") or ()), consumer]
        return {**claim.raw, "status": status}

    async def _add_finalizer(self, claim: ResourceClaim) -> ResourceClaim:
        if CLAIM_FINALIZER in claim.metadata.finalizers:
            return claim
        body = with_finalizers(claim, (*claim.metadata.finalizers, CLAIM_FINALIZER))
        try:
            return ResourceClaim.from_dict(await self._add(claim, body, finalizer_for(claim)))
        except Exception as error:
            raise ClaimBindError(f"add finalizer to claim {claim.key}: {error}") from error

    async def _add(
        self, claim: ResourceClaim, body: Mapping[str, Any], addition: bytes, subresource: str = ""
    ) -> dict[str, Any]:
        """Write the claim with what is added to it; *addition* is the same in protobuf, if that may be needed."""
        try:
            return await self._put(claim, body, subresource)
        except Exception as refusal:
            if _status(refusal) != _INVALID or not addition or not has_parameters(claim):
                raise
            try:
                stored = await self._handle.client.get_protobuf(path_of(claim))
            except Exception:
                raise refusal from None
        whole = append_fields(stored, addition)
        return await self._handle.client.request("PUT", path_of(claim) + subresource, whole, content_type=PROTOBUF)

    async def _put(self, claim: ResourceClaim, body: Mapping[str, Any], subresource: str = "") -> dict[str, Any]:
        whole = {"apiVersion": claim.API_VERSION, "kind": claim.KIND, **body}
        return await self._handle.client.request("PUT", path_of(claim) + subresource, whole)

    async def _assume(self, claim: ResourceClaim, *, is_special: bool) -> None:
        """Count the claim as it is now; one that was just created may not have been shown by the watch yet."""
        clock, pause = self._handle.clock, _PAUSE_SECONDS
        deadline = clock.monotonic() + (_SHOWN_SECONDS if is_special else 0.0)
        while not self._tracker.assume(claim) and clock.monotonic() < deadline:
            if self._tracker.get(claim.namespace, claim.name) is not None:
                return  # as something newer
            await clock.sleep(pause)
            pause = min(2 * pause, 1.0)

    async def _tell_pod(self, state: PodClaims, pod: Pod, claim: ResourceClaim) -> None:
        if not state.mappings:
            raise ClaimBindError(
                f"nil or empty request mappings, no update of pod {pod.key} ExtendedResourceClaimStatus"
            )
        status = {"requestMappings": [to_json(each) for each in state.mappings], "resourceClaimName": claim.name}
        body = {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": status}}
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
        try:
            await self._handle.client.request("PATCH", path, body, content_type=STRATEGIC_PATCH)
        except Exception as error:
            raise ClaimBindError(f"update pod {pod.key} ExtendedResourceClaimStatus: {error}") from error

    # --- binding conditions -----------------------------------------------------------------------

    async def wait(self, state: PodClaims, timeout_seconds: float) -> None:
        """Wait until all devices are ready. Raises BindingConditionError or ClaimBindError."""
        start, status = self._handle.clock.monotonic(), "error"
        try:
            await self._poll(state, timeout_seconds)
            status = "success"
        except BindingConditionError as error:
            status = "timeout" if isinstance(error, BindingTimeoutError) else "failure"
            raise
        finally:
            self._metrics.devices_awaited(state.claims, self._handle.clock.monotonic() - start, status)

    async def _poll(self, state: PodClaims, timeout_seconds: float) -> None:
        clock = self._handle.clock
        deadline = clock.monotonic() + timeout_seconds
        while not self._all_ready(state, timeout_seconds):
            if clock.monotonic() + _POLL_SECONDS > deadline:
                await clock.sleep(max(deadline - clock.monotonic(), 0.0))
                raise BindingTimeoutError("device binding timeout: context deadline exceeded")
            await clock.sleep(_POLL_SECONDS)

    def _all_ready(self, state: PodClaims, timeout_seconds: float) -> bool:
        for i, known in enumerate(state.claims):
            claim = self._tracker.get(known.namespace, known.name)
            if claim is None:
                raise ClaimBindError(f'could not find ResourceClaim "{known.key}"')
            state.claims[i] = claim
            if not are_met(claim):
                if are_overdue(claim, self._handle.clock.now(), timeout_seconds):
                    raise BindingTimeoutError(f"device binding timeout: claim={claim.name}")
                return False
        return True

    # --- PostFilter and Unreserve -----------------------------------------------------------------

    async def deallocate(self, claim: ResourceClaim, pod: Pod) -> None:
        """Release the devices of a claim that is in the way; the pod is tried again when the watch shows it."""
        status = {
            key: value
            for key, value in (claim.raw.get("status") or {}).items()
            if key not in ("allocation", "reservedFor", "devices")
        }
        try:
            await self._put(claim, {**claim.raw, "status": status}, "/status")
        except Exception as error:
            log.error(error, "Deallocation of a ResourceClaim failed", pod=pod, resourceclaim=claim)

    async def unreserve(self, claim: ResourceClaim, pod: Pod) -> None:
        """Take the pod away from those that may use the claim."""
        remove = {"$patch": "delete", "uid": pod.uid}
        body = {"metadata": {"uid": claim.uid}, "status": {"reservedFor": [remove]}}
        try:
            await self._handle.client.request(
                "PATCH", f"{path_of(claim)}/status", body, content_type=STRATEGIC_PATCH
            )
        except Exception as error:
            log.error(error, "unreserve", resourceclaim=claim)

    async def delete(self, claim: ResourceClaim) -> None:
        """Delete the special claim: first the finalizer, then the claim."""
        try:
            for tries_left in range(_TRIES - 1, -1, -1):
                others = tuple(each for each in claim.metadata.finalizers if each != CLAIM_FINALIZER)
                try:
                    await self._put(claim, with_finalizers(claim, others))
                    break
                except Exception as error:
                    if not _is_conflict(error) or not tries_left:
                        raise
                await self._handle.clock.sleep(_PAUSE_SECONDS)
                claim = await self._read_again(claim)
            await self._handle.client.request("DELETE", path_of(claim))
        except Exception as error:
            log.error(error, "delete", resourceclaim=claim)


def path_of(claim: ResourceClaim) -> str:
    return f"/apis/{claim.API_VERSION}/namespaces/{claim.namespace}/{claim.PLURAL}/{claim.name}"


def with_finalizers(claim: ResourceClaim, finalizers: tuple[str, ...]) -> dict[str, Any]:
    metadata = {**claim.raw["metadata"], "finalizers": list(finalizers)}
    if not finalizers:
        del metadata["finalizers"]
    return {**claim.raw, "metadata": metadata}


def to_json(value: msgspec.Struct) -> Any:
    """As JSON has it, zero values left out."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _is_conflict(error: BaseException | None) -> bool:
    return _status(error) == _CONFLICT


def _status(error: BaseException | None) -> int | None:
    """The answer of the API server."""
    return getattr(error, "status", None)
