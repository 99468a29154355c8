"""The calls of KubeClient: paths, bodies and results."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.client.doubles import LoopClock, ScriptedTransport

from bayplan.client import KubeClient
from bayplan.client.errors import ApiError, ConflictError, NotFoundError
from bayplan.client.transport import STRATEGIC_PATCH
from bayplan.model import Condition, Pod
from bayplan.model.wire_format import PROTOBUF

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

UNSCHEDULABLE = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no")
META = {"name": "p", "namespace": "ns", "uid": "u1"}
FRESH = Pod.from_dict({"metadata": META})
FAILED = Pod.from_dict(
    {
        "metadata": META,
        "status": {
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}]
        },
    }
)


async def test_client_patches_the_status_subresource() -> None:
    transport = ScriptedTransport()
    client = KubeClient(transport, LoopClock())
    assert await client.patch_pod_status(FRESH, condition=UNSCHEDULABLE)
    assert not await client.patch_pod_status(FAILED, condition=UNSCHEDULABLE)
    (sent,) = transport.sent
    assert (sent.method, sent.path) == ("PATCH", "/api/v1/namespaces/ns/pods/p/status")
    assert sent.content_type == STRATEGIC_PATCH


async def test_an_object_can_be_read_in_protobuf() -> None:
    transport = ScriptedTransport(ApiError(503), b"k8s\0object")
    client = KubeClient(transport, LoopClock())
    assert await client.get_protobuf("/api/v1/nodes/n") == b"k8s\0object"
    assert [(sent.method, sent.path, sent.content_type) for sent in transport.sent] == [
        ("GET", "/api/v1/nodes/n", PROTOBUF)
    ] * 2


async def test_delete_means_exactly_this_pod() -> None:
    transport = ScriptedTransport(b"{}", NotFoundError(404), ConflictError(409))
    client = KubeClient(transport, LoopClock())
    assert [await client.delete_pod(FRESH) for _ in range(3)] == [True, False, False]
    assert transport.sent[0].body["preconditions"] == {"uid": "u1"}


async def test_another_pod_of_the_same_name_is_not_found() -> None:
    """The server calls the uid in the patch an attempt to change it."""
    immutable = ApiError(422, reason="Invalid", message='Pod "p" is invalid: metadata.uid: field is immutable')
    client = KubeClient(ScriptedTransport(immutable, ApiError(422)), LoopClock())
    with pytest.raises(NotFoundError):
        await client.patch_pod_status(FRESH, condition=UNSCHEDULABLE)
    with pytest.raises(ApiError) as refused:
        await client.patch_pod_status(FRESH, condition=UNSCHEDULABLE)
    assert refused.value.status == 422


async def test_status_and_bind_of_one_pod_are_sent_one_after_the_other() -> None:
    """A condition that arrived after the bind would say that a bound pod is unschedulable."""
    transport = ScriptedTransport(ApiError(500))
    client = KubeClient(transport, LoopClock(), rng=lambda: 0.0)
    patching = asyncio.create_task(client.patch_pod_status(FRESH, condition=UNSCHEDULABLE))
    await asyncio.sleep(0)
    await client.bind(FRESH, "a")
    await patching
    assert [each.method for each in transport.sent] == ["PATCH", "PATCH", "POST"]


async def test_existing_event_is_reported() -> None:
    """Its name is unique, so an earlier try has created it; any other conflict is an error."""
    exists, other = ConflictError(409, reason="AlreadyExists"), ConflictError(409, reason="Conflict")
    client = KubeClient(ScriptedTransport(b"{}", exists, other), LoopClock())
    assert await client.create_event("ns", {})
    assert not await client.create_event("ns", {})
    with pytest.raises(ConflictError):
        await client.create_event("ns", {})


async def test_leases_are_requested_once() -> None:
    """Leader election tries again when it is time."""
    transport = ScriptedTransport(ApiError(500), b'{"kind":"Lease"}', b'{"kind":"Lease"}')
    client = KubeClient(transport, LoopClock())
    with pytest.raises(ApiError):
        await client.get_lease("kube-system", "l")
    assert await client.create_lease("kube-system", {}) == {"kind": "Lease"}
    assert await client.update_lease("kube-system", "l", {}) == {"kind": "Lease"}
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    assert [(each.method, each.path) for each in transport.sent] == [
        ("GET", f"{leases}/l"),
        ("POST", leases),
        ("PUT", f"{leases}/l"),
    ]


async def test_streams_respect_the_rate_limit() -> None:
    transport = ScriptedTransport()
    client = KubeClient(transport, LoopClock(), qps=0.5, burst=1)
    start = asyncio.get_running_loop().time()
    for _ in range(2):
        async with client.stream("/api/v1/pods") as body:
            assert [chunk async for chunk in body] == [b"chunk"]
    assert asyncio.get_running_loop().time() - start == pytest.approx(2.0)
