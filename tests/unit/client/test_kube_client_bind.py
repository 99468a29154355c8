"""The result of a bind is always certain."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from tests.unit.client.doubles import LoopClock, ScriptedTransport

from bayplan.client import KubeClient
from bayplan.client.errors import (
    ApiError,
    ClientError,
    ConflictError,
    NotFoundError,
    NotLeadingError,
    TransportError,
)
from bayplan.model import Pod

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

POD = Pod.from_dict({"metadata": {"name": "p", "namespace": "ns", "uid": "u1"}})
CUT = TransportError("cut", sent=True)


def on_node(node: str = "", uid: str = "u1") -> bytes:
    spec: dict[str, Any] = {"nodeName": node} if node else {}
    return msgspec.json.encode({"metadata": {"uid": uid}, "spec": spec})


async def bind(*answers: bytes | ClientError) -> list[str]:
    """Bind the pod to "a"; the methods that were used."""
    transport = ScriptedTransport(*answers)
    client = KubeClient(transport, LoopClock(), rng=lambda: 0.0)
    try:
        await client.bind(POD, "a")
    finally:
        methods = [each.method for each in transport.sent]
    return methods


async def test_binding_names_pod_uid_and_node() -> None:
    transport = ScriptedTransport()
    await KubeClient(transport, LoopClock()).bind(POD, "a")
    (sent,) = transport.sent
    assert (sent.method, sent.path) == ("POST", "/api/v1/namespaces/ns/pods/p/binding")
    assert sent.body == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p", "namespace": "ns", "uid": "u1"},
        "target": {"kind": "Node", "name": "a"},
    }


@pytest.mark.parametrize("doubt", [CUT, ApiError(500), ApiError(504)], ids=str)
async def test_unknown_outcome_that_was_a_bind(doubt: ClientError) -> None:
    assert await bind(doubt, on_node("a")) == ["POST", "GET"]


@pytest.mark.parametrize("doubt", [CUT, ApiError(500)], ids=str)
async def test_unknown_outcome_that_was_none(doubt: ClientError) -> None:
    assert await bind(doubt, on_node(), b"{}") == ["POST", "GET", "POST"]


async def test_conflict_with_our_own_earlier_try() -> None:
    """The first try was looked up before the server had finished it."""
    assert await bind(CUT, on_node(), ConflictError(409), on_node("a")) == ["POST", "GET", "POST", "GET"]


async def test_conflict_without_doubt_is_an_answer() -> None:
    with pytest.raises(ConflictError):
        await bind(ConflictError(409, message="already assigned"))


async def test_unknown_outcome_on_another_node() -> None:
    with pytest.raises(ConflictError, match='pod p is already assigned to node "b"'):
        await bind(CUT, on_node("b"))


async def test_unknown_outcome_of_a_pod_that_is_another_by_now() -> None:
    with pytest.raises(NotFoundError):
        await bind(CUT, on_node("a", uid="u2"))


async def test_429_and_a_refused_connection_leave_no_doubt() -> None:
    assert await bind(ApiError(429), TransportError("refused", sent=False), b"{}") == ["POST"] * 3


async def test_lookups_outlast_a_short_outage() -> None:
    assert await bind(CUT, TransportError("refused", sent=False), ApiError(500), on_node("a")) == [
        "POST",
        "GET",
        "GET",
        "GET",
    ]


async def test_a_bind_that_never_works_is_raised() -> None:
    with pytest.raises(TransportError):
        await bind(*[TransportError("refused", sent=False)] * 20)


async def test_no_bind_without_the_lease() -> None:
    transport = ScriptedTransport()
    client = KubeClient(transport, LoopClock(), may_bind=lambda: False)
    with pytest.raises(NotLeadingError):
        await client.bind(POD, "a")
    assert transport.sent == []


@pytest.mark.parametrize(
    "write",
    [
        lambda client: client.patch_pod_status(POD, nominated_node_name="a"),
        lambda client: client.delete_pod(POD),
        lambda client: client.request("PUT", "/api/v1/persistentvolumes/v", {}),
    ],
    ids=["status", "eviction", "what a plugin writes"],
)
async def test_nothing_is_written_without_the_lease(write: Callable[[KubeClient], Awaitable[object]]) -> None:
    """A leader that was frozen has evictions and statuses in hand when it wakes, too; it may still read."""
    transport = ScriptedTransport()
    client = KubeClient(transport, LoopClock(), may_bind=lambda: False)
    with pytest.raises(NotLeadingError):
        await write(client)
    assert transport.sent == []
    await client.request("GET", "/api/v1/pods")
    assert [each.method for each in transport.sent] == ["GET"]
