"""What PreBind adds to a claim, as fields in protobuf: for claims that JSON cannot carry unchanged.

kube-apiserver compares opaque parameters byte by byte: blanks count, and how a character is escaped. A claim that
is read as JSON shows neither, so it is refused as another one when it comes back with an addition. In protobuf the
addition is appended to the claim as it is stored.
"""

from __future__ import annotations

from typing import Final

from bayplan.model import CLAIM_FINALIZER, Pod, ResourceClaim
from bayplan.model.wire_format import encode_field

# The numbers of the fields in Kubernetes' messages.
_METADATA: Final = 1
_RESOURCE_VERSION: Final = 6
_FINALIZERS: Final = 14
_STATUS: Final = 3
_ALLOCATION: Final = 1
_ALLOCATION_TIMESTAMP: Final = 5
_SECONDS: Final = 1
_RESERVED_FOR: Final = 2
_RESOURCE: Final = 3
_NAME: Final = 4
_UID: Final = 5


def has_parameters(claim: ResourceClaim) -> bool:
    """Whether the claim or its allocation has opaque parameters."""
    allocation = claim.status.allocation
    return any(each.opaque is not None for each in claim.spec.devices.config) or (
        allocation is not None and any(each.opaque is not None for each in allocation.devices.config)
    )


def finalizer_for(claim: ResourceClaim) -> bytes:
    """The finalizer of an allocated claim."""
    return _metadata(claim, encode_field(_FINALIZERS, CLAIM_FINALIZER))


def reservation_for(claim: ResourceClaim, pod: Pod, now: float) -> bytes:
    """The pod among those that may use the claim; and when it was allocated, if nobody has noted that."""
    consumer = encode_field(_RESOURCE, "pods") + encode_field(_NAME, pod.name) + encode_field(_UID, pod.uid)
    status = encode_field(_RESERVED_FOR, consumer)
    allocation = claim.status.allocation
    if allocation is not None and not allocation.allocation_timestamp:
        allocated_at = encode_field(_ALLOCATION_TIMESTAMP, encode_field(_SECONDS, int(now)))
        status += encode_field(_ALLOCATION, allocated_at)
    return _metadata(claim) + encode_field(_STATUS, status)


def _metadata(claim: ResourceClaim, added: bytes = b"") -> bytes:
    """With the version that we know: a claim that changed since then is a conflict, as for any update."""
    return encode_field(_METADATA, encode_field(_RESOURCE_VERSION, claim.resource_version) + added)
