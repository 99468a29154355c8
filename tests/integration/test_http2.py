"""Requests over HTTP/2, against a server that is made on another implementation of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import h2.errors
import pytest
from h2.settings import SettingCodes
from tests.integration.http2_server import Asked, Http2Server

from bayplan.client import ApiError, TransportError

pytestmark = pytest.mark.asyncio

WAIT_SECONDS = 5.0


async def eventually(condition: object) -> None:
    """Until *condition*, a function, is true."""
    assert callable(condition)
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


def echo(asked: Asked) -> None:
    asked.answer(asked.path.encode() + b" " + asked.body)


async def test_many_requests_share_one_connection_and_each_gets_its_own_answer() -> None:
    """Answers come in another order than requests; nobody opens a second connection for it."""
    waiting: list[Asked] = []

    def answer_backwards(asked: Asked) -> None:
        waiting.append(asked)
        if len(waiting) == 20:
            for each in reversed(waiting):
                echo(each)

    async with Http2Server(answer_backwards) as server:
        transport = server.transport()
        asking = [transport.request_bytes("POST", f"/api/{i}", b"%d" % i) for i in range(20)]
        assert await asyncio.gather(*asking) == [b"/api/%d %d" % (i, i) for i in range(20)]
        assert len(server.peers) == 1
        await transport.close()


async def test_a_request_says_what_http_1_would_say() -> None:
    async with Http2Server(echo) as server:
        transport = server.transport(user_agent="tester")
        await transport.request_bytes("PATCH", "/api/a", b"{}", query={"x": 1}, content_type="application/patch")
        headers = server.asked[0].headers
        host = headers.pop(":authority")
        assert host.startswith("127.0.0.1:")
        assert headers == {
            ":method": "PATCH",
            ":path": "/api/a?x=1",
            ":scheme": "https",
            "user-agent": "tester",
            "accept": "application/json",
            "content-type": "application/patch",
            "content-length": "2",
        }
        await transport.close()


@pytest.mark.parametrize("window", [10, 65_535, 1_000_000], ids=["ten bytes", "the usual", "a megabyte"])
async def test_a_body_is_sent_as_far_as_the_server_allows_and_arrives_whole(window: int) -> None:
    """Two of them at a time, larger than a frame, and than what the connection allows at first."""
    bodies = [bytes([i]) * (300 if window == 10 else 200_000) for i in range(2)]
    async with Http2Server(echo, {SettingCodes.INITIAL_WINDOW_SIZE: window}) as server:
        transport = server.transport()
        answers = await asyncio.gather(*(transport.request_bytes("POST", "/api", body) for body in bodies))
        assert answers == [b"/api " + body for body in bodies]
        await transport.close()


async def test_a_large_answer_arrives_whole() -> None:
    body = bytes(range(256)) * 20_000
    async with Http2Server(lambda asked: asked.answer(body)) as server:
        transport = server.transport()
        assert await transport.request_bytes("GET", "/api") == body
        await transport.close()


async def test_headers_of_several_frames_are_put_together() -> None:
    """More than fits into one frame of 16 KiB."""
    long = {f"x_{i}": "v" * 1000 for i in range(60)}
    async with Http2Server(lambda asked: asked.answer(b"full", 503, retry_after="3", **long)) as server:
        transport = server.transport()
        with pytest.raises(ApiError, match="503 Service Unavailable: full") as caught:
            await transport.request_bytes("GET", "/api")
        assert caught.value.retry_after == 3.0
        await transport.close()


async def test_a_refusal_is_an_error_with_the_servers_words() -> None:
    status = b'{"kind":"Status","code":409,"reason":"Conflict","message":"no"}'
    async with Http2Server(lambda asked: asked.answer(status, 409)) as server:
        transport = server.transport()
        with pytest.raises(ApiError, match=r"^no$"):
            await transport.request_bytes("POST", "/api", b"{}")
        await transport.close()


async def test_an_interim_answer_is_not_the_answer() -> None:
    def hint_first(asked: Asked) -> None:
        asked.peer.send_headers(asked.stream_id, [(":status", "103")])
        asked.answer(b"now", 201)

    async with Http2Server(hint_first) as server:
        transport = server.transport()
        assert await transport.request_bytes("POST", "/api", b"{}") == b"now"
        await transport.close()


async def test_a_server_that_goes_away_finishes_what_it_has_begun_and_gets_nothing_new() -> None:
    """What it has not looked at is known not to have happened."""

    def go_away_at_the_second(asked: Asked) -> None:
        if asked.path == "/api/late":
            asked.peer.connection.close_connection(last_stream_id=1)
            asked.peer.flush()
            first = server.asked[0]
            # h2 writes nothing after its goodbye; the answer to the first request is still owed.
            block = bytes((0x88,))
            asked.peer.raw(_frame(1, 0x5, first.stream_id, block))

    async with Http2Server(go_away_at_the_second) as server:
        transport = server.transport()
        first = asyncio.ensure_future(transport.request_bytes("POST", "/api/early", b"{}"))
        await eventually(lambda: server.asked)
        with pytest.raises(TransportError, match="closes the connection") as caught:
            await transport.request_bytes("POST", "/api/late", b"{}")
        assert not caught.value.sent
        assert await first == b""
        server.handler = echo
        assert await transport.request_bytes("GET", "/api/again") == b"/api/again "
        assert len(server.peers) == 2
        await transport.close()


@pytest.mark.parametrize(
    ("code", "sent"),
    [(h2.errors.ErrorCodes.REFUSED_STREAM, False), (h2.errors.ErrorCodes.INTERNAL_ERROR, True)],
    ids=["refused, so nothing happened", "broken, so nobody knows"],
)
async def test_a_request_that_the_server_gives_up(code: h2.errors.ErrorCodes, sent: bool) -> None:
    def give_up(asked: Asked) -> None:
        asked.peer.connection.reset_stream(asked.stream_id, code)

    async with Http2Server(give_up) as server:
        transport = server.transport()
        with pytest.raises(TransportError, match="gave up the request") as caught:
            await transport.request_bytes("POST", "/api", b"{}")
        assert caught.value.sent is sent
        server.handler = echo
        assert await transport.request_bytes("GET", "/api") == b"/api "
        assert len(server.peers) == 1
        await transport.close()


async def test_a_cut_fails_all_that_is_under_way_and_a_get_is_sent_again() -> None:
    def cut_at_the_third(asked: Asked) -> None:
        if len(server.asked) == 1:
            echo(asked)
        elif len(server.asked) == 3:
            asked.peer.cut()
            server.handler = echo

    async with Http2Server(cut_at_the_third) as server:
        transport = server.transport()
        await transport.request_bytes("GET", "/api/warm")
        answers: Sequence[bytes | BaseException] = await asyncio.gather(
            transport.request_bytes("POST", "/api/p", b"{}"),
            transport.request_bytes("GET", "/api/g"),
            return_exceptions=True,
        )
        posted, got = answers
        assert isinstance(posted, TransportError)
        assert posted.sent
        assert got == b"/api/g "
        await transport.close()


async def test_no_more_requests_at_a_time_than_the_server_allows() -> None:
    waiting: list[Asked] = []
    async with Http2Server(waiting.append, {SettingCodes.MAX_CONCURRENT_STREAMS: 3}) as server:
        transport = server.transport(max_connections=3)
        asking = [asyncio.ensure_future(transport.request_bytes("GET", f"/api/{i}")) for i in range(7)]
        await eventually(lambda: len(waiting) == 3)
        await asyncio.sleep(0.05)
        assert len(waiting) == 3
        for i in range(7):
            await eventually(lambda i=i: len(waiting) > i)
            echo(waiting[i])
        assert await asyncio.gather(*asking) == [b"/api/%d " % i for i in range(7)]
        assert len(server.peers) == 1
        await transport.close()


async def test_one_who_gives_up_takes_nobody_along() -> None:
    waiting: list[Asked] = []
    async with Http2Server(waiting.append) as server:
        transport = server.transport()
        given_up = asyncio.ensure_future(transport.request_bytes("GET", "/api/a"))
        kept = asyncio.ensure_future(transport.request_bytes("GET", "/api/b"))
        await eventually(lambda: len(waiting) == 2)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        echo(waiting[1])
        assert await kept == b"/api/b "
        assert len(server.peers) == 1
        await transport.close()


async def test_an_overdue_answer_fails_alone_while_the_server_answers_others() -> None:
    def all_but_one(asked: Asked) -> None:
        if asked.path != "/api/never":
            echo(asked)

    async with Http2Server(all_but_one) as server:
        transport = server.transport(timeout_seconds=0.5)
        overdue = asyncio.ensure_future(transport.request_bytes("POST", "/api/never", b"{}"))
        await eventually(lambda: server.asked)
        await transport.request_bytes("GET", "/api/a")
        with pytest.raises(TransportError, match="no answer within the time limit") as caught:
            await overdue
        assert caught.value.sent
        await transport.request_bytes("GET", "/api/b")
        assert len(server.peers) == 1
        await transport.close()


async def test_a_connection_that_is_silent_for_too_long_is_given_up() -> None:
    async with Http2Server(lambda asked: None) as server:
        transport = server.transport(timeout_seconds=0.5)
        with pytest.raises(TransportError, match="no answer within the time limit"):
            await transport.request_bytes("POST", "/api/never", b"{}")
        server.handler = echo
        assert await transport.request_bytes("GET", "/api/b") == b"/api/b "
        assert len(server.peers) == 2
        await transport.close()


async def test_a_ping_is_answered() -> None:
    async with Http2Server(echo) as server:
        transport = server.transport()
        await transport.request_bytes("GET", "/api")
        peer = server.peers[0]
        peer.connection.ping(b"12345678")
        peer.flush()
        await eventually(lambda: peer.n_pings_answered == 1)
        await transport.close()


@pytest.mark.parametrize(
    "noise",
    [
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", id="http/1.1"),
        pytest.param(b"\x00\x00\x01\x01\x05\x00\x00\x00\x01\x40", id="headers without a status"),
        pytest.param(b"\x00\x00\x02\x00\x08\x00\x00\x00\x01\x09\x00", id="more padding than payload"),
        pytest.param(b"\x00\x00\x01\x08\x00\x00\x00\x00\x00\x01", id="half a window update"),
    ],
)
async def test_noise_is_a_clear_error(noise: bytes) -> None:
    async with Http2Server(lambda asked: asked.peer.raw(noise)) as server:
        transport = server.transport()
        with pytest.raises(TransportError, match="does not speak HTTP/2"):
            await transport.request_bytes("POST", "/api", b"{}")
        await transport.close()


async def test_http_2_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """With client-go's variable; this server speaks nothing else, so there is no answer."""
    monkeypatch.setenv("DISABLE_HTTP2", "1")
    async with Http2Server(echo) as server:
        transport = server.transport()
        with pytest.raises(TransportError):
            await transport.request_bytes("POST", "/api", b"{}")
        assert not server.asked
        await transport.close()


async def test_all_who_wait_for_a_connection_that_cannot_be_opened_are_told() -> None:
    """They wait for one connection together, and not for a time limit each."""
    async with Http2Server(echo) as server:
        transport = server.transport()
    asking = [transport.request_bytes("GET", f"/api/{i}") for i in range(10)]
    async with asyncio.timeout(WAIT_SECONDS):
        errors = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(error, TransportError) and not error.sent for error in errors)
    await transport.close()


async def test_closing_fails_what_is_under_way() -> None:
    async with Http2Server(lambda asked: None) as server:
        transport = server.transport()
        asking = asyncio.ensure_future(transport.request_bytes("POST", "/api", b"{}"))
        await eventually(lambda: server.asked)
        await transport.close()
        with pytest.raises(TransportError, match="was closed"):
            await asking


def _frame(kind: int, flags: int, stream_id: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream_id.to_bytes(4, "big") + payload
