"""Which requests are sent again, and when."""

import pytest
from tests.unit.client.doubles import LoopClock, ScriptedTransport

from bayplan.client import KubeClient
from bayplan.client.errors import ApiError, ClientError, ConflictError, NotFoundError, TransportError
from bayplan.client.transport import MERGE_PATCH

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


def client_of(transport: ScriptedTransport, *, qps: float = 0.0, burst: int = 0) -> KubeClient:
    return KubeClient(transport, LoopClock(), qps=qps, burst=burst, rng=lambda: 0.0)


async def test_429_waits_as_long_as_the_server_asks() -> None:
    transport = ScriptedTransport(ApiError(429, retry_after=7.0), b'{"a":1}')
    assert await client_of(transport).request("POST", "/x") == {"a": 1}
    assert transport.sent[1].at - transport.sent[0].at == pytest.approx(7.0)


async def test_429_without_a_time_backs_off() -> None:
    transport = ScriptedTransport(ApiError(429), ApiError(429), b"{}")
    await client_of(transport).request("POST", "/x")
    assert [each.at for each in transport.sent] == pytest.approx([0.0, 0.1, 0.3])


async def test_429_ends_after_ten_tries() -> None:
    transport = ScriptedTransport(*[ApiError(429)] * 20)
    with pytest.raises(ApiError):
        await client_of(transport).request("GET", "/x")
    assert len(transport.sent) == 10


@pytest.mark.parametrize("error", [ApiError(500), ApiError(503), TransportError("cut", sent=True)], ids=str)
async def test_passing_trouble_repeats_a_get_only(error: ClientError) -> None:
    transport = ScriptedTransport(error, b"{}")
    await client_of(transport).request("GET", "/x")
    assert len(transport.sent) == 2
    transport = ScriptedTransport(error, b"{}")
    with pytest.raises(type(error)):
        await client_of(transport).request("POST", "/x")
    assert len(transport.sent) == 1


async def test_a_request_that_never_left_is_repeated() -> None:
    transport = ScriptedTransport(TransportError("refused", sent=False), b"{}")
    await client_of(transport).request("POST", "/x")
    assert len(transport.sent) == 2


@pytest.mark.parametrize("error", [NotFoundError(404), ConflictError(409), ApiError(403)], ids=str)
async def test_an_answer_is_an_answer(error: ApiError) -> None:
    transport = ScriptedTransport(error)
    with pytest.raises(type(error)):
        await client_of(transport).request("GET", "/x")
    assert len(transport.sent) == 1


async def test_trouble_that_stays_is_raised() -> None:
    transport = ScriptedTransport(*[ApiError(500)] * 20)
    with pytest.raises(ApiError):
        await client_of(transport).request("GET", "/x")
    assert len(transport.sent) == 5


async def test_rate_limit_spreads_requests() -> None:
    transport = ScriptedTransport()
    client = client_of(transport, qps=2.0, burst=1)
    for _ in range(4):
        await client.request("GET", "/x")
    assert [each.at for each in transport.sent] == pytest.approx([0.0, 0.5, 1.0, 1.5])


async def test_patch_is_a_merge_patch_by_default() -> None:
    transport = ScriptedTransport()
    await client_of(transport).request("PATCH", "/x", {"a": None})
    assert transport.sent[0].content_type == MERGE_PATCH
