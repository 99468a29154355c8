"""Claims whose parameters JSON cannot carry unchanged are written in protobuf, by as few requests as can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.devices.device_objects import DRIVER, exactly, make_claim, make_class, make_slice
from tests.unit.plugins.devices.claim_stage import ClaimStage, pod_claiming

from bayplan.client import ApiError
from bayplan.framework import Status
from bayplan.model.wire_format import MAGIC, OBJECT, TYPE, encode_field, fields_of
from bayplan.testing import make_node

LITERAL = b'{ "mode": "fast" }'
OPAQUE = {"driver": DRIVER, "parameters": {"mode": "fast"}}
CONFIG = [{"opaque": OPAQUE}]
FINALIZER = "resource.kubernetes.io/delete-protection"
PATH = "default/resourceclaims/c"
RESULT = {"request": "r", "driver": DRIVER, "pool": "a", "device": "a0"}
ALLOCATED = {
    "allocation": {"devices": {"results": [RESULT], "config": [{"source": "FromClaim", "opaque": OPAQUE}]}},
    "reservedFor": [{"resource": "pods", "name": "user", "uid": "uid-user"}],
}


def stored(status: bytes = b"") -> bytes:
    """The claim in protobuf, with its parameters as they were written."""
    opaque = encode_field(1, DRIVER) + encode_field(2, encode_field(1, LITERAL))
    devices = encode_field(3, encode_field(2, encode_field(1, opaque)))
    metadata = encode_field(1, "c") + encode_field(3, "default") + encode_field(5, "uid-c") + encode_field(6, "99")
    claim = encode_field(1, metadata) + encode_field(2, encode_field(1, devices)) + status
    kind = encode_field(1, "resource.k8s.io/v1") + encode_field(2, "ResourceClaim")
    return MAGIC + encode_field(TYPE, kind) + encode_field(OBJECT, claim)


def stored_allocation() -> bytes:
    result = encode_field(1, "r") + encode_field(2, DRIVER) + encode_field(3, "a") + encode_field(4, "a0")
    consumer = encode_field(3, "pods") + encode_field(4, "user") + encode_field(5, "uid-user")
    allocation = encode_field(1, encode_field(1, encode_field(1, result)))
    return encode_field(3, allocation + encode_field(2, consumer))


def refuse(status: int) -> Callable[[], None]:
    def answer() -> None:
        raise ApiError(status, message="field is immutable")

    return answer


def stage(**fields: Any) -> ClaimStage:
    claim = make_claim("c", exactly(), config=CONFIG, metadata={"resourceVersion": "7"}, **fields)
    return ClaimStage(make_class(), make_slice("s", "a0", pool="a"), claim, nodes=[make_node("a")])


def pre_bind(on_stage: ClaimStage) -> Status | None:
    pod = pod_claiming("c")
    return on_stage.pre_bind(on_stage.reserve(pod, "a"), pod, "a")


def test_parameters_that_json_keeps_cost_no_request() -> None:
    on_stage = stage()
    assert pre_bind(on_stage) is None
    assert on_stage.server.requests == [("PUT", PATH), ("PUT", f"{PATH}/status")]


def test_finalizer_is_appended_to_the_claim_as_it_is_stored() -> None:
    """With the version that was known before it was read: if it has changed since, that is a conflict."""
    on_stage = stage()
    on_stage.server.stored, on_stage.server.before = stored(), [refuse(422)]
    assert pre_bind(on_stage) is None
    assert on_stage.server.requests == [
        ("PUT", PATH),
        ("GET", "protobuf"),
        ("PUT", PATH),
        ("PUT", f"{PATH}/status"),
    ]
    written = on_stage.server.bodies[1]
    assert LITERAL in written
    claim = dict(fields_of(written[len(MAGIC) :]))[OBJECT]
    assert isinstance(claim, bytes)
    assert claim.endswith(encode_field(1, encode_field(6, "7") + encode_field(14, FINALIZER)))
    assert on_stage.claim("c").metadata.finalizers == (FINALIZER,)


def test_reservation_is_appended_to_an_allocation_of_somebody_else() -> None:
    on_stage = stage(status=ALLOCATED)
    on_stage.server.stored, on_stage.server.before = stored(stored_allocation()), [refuse(422)]
    assert pre_bind(on_stage) is None
    assert on_stage.server.requests == [("PUT", f"{PATH}/status"), ("GET", "protobuf"), ("PUT", f"{PATH}/status")]
    claim = on_stage.claim("c")
    assert [each.name for each in claim.status.reserved_for] == ["user", "p"]
    assert claim.status.allocation is not None
    assert claim.status.allocation.devices.results[0].device == "a0"
    assert claim.status.allocation.allocation_timestamp == "2023-11-14T22:13:20Z"


def test_claim_that_changed_meanwhile_is_read_again() -> None:
    on_stage = stage()
    on_stage.server.stored, on_stage.server.before = stored(), [refuse(422), refuse(409)]
    assert pre_bind(on_stage) is None
    methods = [method for method, _ in on_stage.server.requests]
    assert methods == ["PUT", "GET", "PUT", "GET", "PUT", "PUT"]


@pytest.mark.parametrize(
    ("status", "n_requests"),
    [pytest.param(403, 1, id="for another reason"), pytest.param(422, 2, id="by a server without protobuf")],
)
def test_refusal_that_protobuf_does_not_change(status: int, n_requests: int) -> None:
    on_stage = stage()
    on_stage.server.before = [refuse(status)]
    failed = pre_bind(on_stage)
    assert failed is not None
    assert failed.message == "add finalizer to claim default/c: field is immutable"
    assert len(on_stage.server.requests) == n_requests


def test_claim_without_parameters_is_refused_once() -> None:
    on_stage, pod = stage(), pod_claiming("plain")
    on_stage.bench.objects.set(make_claim("plain", exactly()))
    state = on_stage.reserve(pod, "a")
    on_stage.server.before = [refuse(422)]
    assert on_stage.pre_bind(state, pod, "a") is not None
    assert len(on_stage.server.requests) == 1
