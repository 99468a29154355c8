"""The transport against real sockets: kept connections, cuts, slow servers, certificates."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
import uvloop
import yaml
from aiohttp import web
from tests.integration.scripted_server import (
    RawServer,
    ScriptedServer,
    answer,
    ca_pem,
    client_certificate,
    cut,
    refusal,
)

from bayplan.client import (
    USER_AGENT,
    ApiError,
    AuthInfo,
    ClusterAccess,
    ConflictError,
    HttpTransport,
    TransportError,
    Trust,
    load_access,
)
from bayplan.clock import SystemClock

decode = msgspec.json.decode

pytestmark = pytest.mark.asyncio


async def echo(request: web.Request) -> web.StreamResponse:
    return answer({"path": request.path_qs, "body": (await request.read()).decode()})


async def slow(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(30)
    return answer({})


# --- requests ---------------------------------------------------------------------------------------------


async def test_request_and_headers() -> None:
    bearer = AuthInfo(token="secret", impersonate=(("Impersonate-User", "jane"),))  # noqa: S106
    async with ScriptedServer(echo) as server:
        transport = server.transport(bearer)
        reply = await transport.request_bytes("POST", "/api/v1/x", {"a": 1}, query={"fieldSelector": "a!=b,c"})
        await transport.close()
    assert decode(reply) == {"path": "/api/v1/x?fieldSelector=a%21%3Db%2Cc", "body": '{"a":1}'}
    headers = server.seen[0].headers
    assert headers["User-Agent"] == USER_AGENT
    assert headers["Authorization"] == "Bearer secret"
    assert headers["Impersonate-User"] == "jane"
    assert headers["Content-Type"] == headers["Accept"] == "application/json"


async def test_connection_is_kept() -> None:
    async with ScriptedServer(echo) as server:
        transport = server.transport()
        for _ in range(10):
            await transport.request_bytes("GET", "/x")
        await transport.close()
    assert server.n_connections == 1


async def test_connections_are_bounded_and_first_come_first_served() -> None:
    running = most = 0

    async def count(request: web.Request) -> web.StreamResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.005)
        running -= 1
        return answer({})

    async with ScriptedServer(count) as server:
        transport = server.transport(max_connections=4)
        await asyncio.gather(*(transport.request_bytes("GET", f"/{i}") for i in range(60)))
        await transport.close()
    assert most <= 4
    assert server.n_connections == 4
    order = [int(each.path[1:]) for each in server.seen]
    assert all(abs(place - i) < 8 for i, place in enumerate(order))


async def test_chunked_and_large_answers() -> None:
    async def chunked(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for _ in range(100):
            await response.write(b"x" * 20_000)
        return response

    async with ScriptedServer(chunked) as server:
        transport = server.transport()
        assert len(await transport.request_bytes("GET", "/x")) == 2_000_000
        assert len(await transport.request_bytes("GET", "/x")) == 2_000_000
        await transport.close()
    assert server.n_connections == 1


async def test_refusals_have_the_servers_words() -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            return refusal(409, "Conflict", "already assigned")
        return refusal(429, "TooManyRequests", "later", **{"Retry-After": "3"})

    async with ScriptedServer(refuse) as server:
        transport = server.transport()
        with pytest.raises(ConflictError, match="already assigned"):
            await transport.request_bytes("POST", "/x")
        with pytest.raises(ApiError) as refused:
            await transport.request_bytes("GET", "/x")
        await transport.close()
    assert (refused.value.status, refused.value.retry_after) == (429, 3.0)
    assert server.n_connections == 1


async def test_last_word_before_sending() -> None:
    def refuse() -> None:
        raise PermissionError

    async with ScriptedServer(echo) as server:
        transport = server.transport()
        with pytest.raises(PermissionError):
            await transport.request_bytes("POST", "/x", before_send=refuse)
        await transport.request_bytes("GET", "/y")
        await transport.close()
    assert [each.path for each in server.seen] == ["/y"]


@pytest.mark.parametrize("path", ["x", "/a b", "/a\r\nX: y", "/é"])
async def test_odd_paths_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match="not a path"):
        await HttpTransport(ClusterAccess("http://x"), SystemClock()).request_bytes("GET", path)


# --- bad connections --------------------------------------------------------------------------------------


async def test_cut_request_is_not_repeated() -> None:
    async def cut_it(request: web.Request) -> web.StreamResponse:
        return cut(request)

    async with ScriptedServer(cut_it) as server:
        transport = server.transport()
        for method in ("POST", "GET"):
            with pytest.raises(TransportError) as failure:
                await transport.request_bytes(method, "/x")
            assert failure.value.sent
        await transport.close()
    assert [each.method for each in server.seen] == ["POST", "GET"]


async def test_kept_connection_that_died_costs_a_get_nothing() -> None:
    n_requests = 0

    async def cut_second(request: web.Request) -> web.StreamResponse:
        nonlocal n_requests
        n_requests += 1
        return cut(request) if n_requests in (2, 4) else answer({"n": n_requests})

    async with ScriptedServer(cut_second) as server:
        transport = server.transport()
        assert [await transport.request_bytes("GET", "/x") for _ in range(2)] == [b'{"n":1}', b'{"n":3}']
        with pytest.raises(TransportError):
            await transport.request_bytes("POST", "/x")
        await transport.close()
    assert n_requests == 4


async def test_server_that_closes_idle_connections() -> None:
    async with ScriptedServer(echo, keep_alive_seconds=0.1) as server:
        transport = server.transport()
        await transport.request_bytes("POST", "/x")
        await asyncio.sleep(1.3)
        await transport.request_bytes("POST", "/x")
        await transport.close()
    assert server.n_connections == 2


async def test_refused_connection_was_not_sent() -> None:
    async with ScriptedServer(echo) as server:
        transport = server.transport()
    with pytest.raises(TransportError, match=r"cannot connect to https://127\.0\.0\.1") as failure:
        await transport.request_bytes("POST", "/x")
    assert not failure.value.sent


async def test_slow_server_is_given_up() -> None:
    async with ScriptedServer(slow) as server:
        transport = server.transport(timeout_seconds=0.2)
        with pytest.raises(TransportError, match="time limit") as failure:
            await transport.request_bytes("POST", "/x")
        assert failure.value.sent
        with pytest.raises(TransportError, match="time limit"):
            async with transport.stream("/x"):
                pass
        await transport.close()


async def test_cancelled_request_leaves_no_reply_behind() -> None:
    async def sometimes_slow(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.2 if request.path == "/slow" else 0)
        return answer({"path": request.path})

    async with ScriptedServer(sometimes_slow) as server:
        transport = server.transport(max_connections=1)
        task = asyncio.create_task(transport.request_bytes("GET", "/slow"))
        waiting = asyncio.create_task(transport.request_bytes("GET", "/waiting"))
        await asyncio.sleep(0.1)
        task.cancel()
        assert decode(await waiting) == {"path": "/waiting"}
        assert decode(await transport.request_bytes("GET", "/next")) == {"path": "/next"}
        await transport.close()


async def test_closing_fails_what_is_under_way() -> None:
    async with ScriptedServer(slow) as server:
        transport = server.transport(max_connections=1)
        tasks = [asyncio.create_task(transport.request_bytes("GET", "/x")) for _ in range(3)]
        await asyncio.sleep(0.1)
        await transport.close()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(each) for each in results] == [TransportError] * 3
        with pytest.raises(TransportError, match="the client is closed"):
            await transport.request_bytes("GET", "/x")


@pytest.mark.parametrize(
    ("script", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.0 200 OK\r\n\r\nold", b"old"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
    ids=["no length", "HTTP/1.0", "continue first", "no content"],
)
async def test_other_ways_to_answer(script: bytes, body: bytes) -> None:
    async with RawServer(script) as server:
        assert await server.transport().request_bytes("GET", "/x") == body


@pytest.mark.parametrize(
    "script",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nContent-",
        b"",
    ],
    ids=["not HTTP", "half a body", "half a head", "nothing"],
)
async def test_answers_that_are_none(script: bytes) -> None:
    async with RawServer(script) as server:
        with pytest.raises(TransportError):
            await server.transport().request_bytes("POST", "/x")
        assert server.n_requests == 1


# --- who is who -------------------------------------------------------------------------------------------


async def test_unknown_authority_is_not_trusted() -> None:
    async with ScriptedServer(echo) as server:
        transport = server.transport(trust=Trust())
        with pytest.raises(TransportError, match="certificate is not trusted"):
            await transport.request_bytes("GET", "/x")
        for trust in (Trust(insecure=True), Trust(ca_pem(), server_name="scripted.example")):
            transport = server.transport(trust=trust)
            await transport.request_bytes("GET", "/x")
            await transport.close()
        with pytest.raises(TransportError, match="certificate is not trusted: Hostname mismatch"):
            await server.transport(trust=Trust(ca_pem(), server_name="other.example")).request_bytes("GET", "/x")


async def test_client_certificate_of_a_kubeconfig(tmp_path: Path) -> None:
    certificate = client_certificate()
    (tmp_path / "ca.crt").write_bytes(ca_pem().data)
    (tmp_path / "client.crt").write_bytes(certificate.certificate.data)
    (tmp_path / "client.key").write_bytes(certificate.key.data)
    async with ScriptedServer(echo, wants_certificate=True) as server:
        config = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": server.url, "certificate-authority": "ca.crt"}}],
            "users": [{"name": "u", "user": {"client-certificate": "client.crt", "client-key": "client.key"}}],
        }
        path = tmp_path / "config"
        path.write_text(yaml.safe_dump(config))
        transport = HttpTransport(load_access(str(path)), SystemClock())
        await transport.request_bytes("GET", "/x")
        await transport.close()
        with pytest.raises(TransportError):
            await server.transport().request_bytes("GET", "/x")


async def test_renewed_token_is_shown_after_a_401(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    async def check(request: web.Request) -> web.StreamResponse:
        return answer({}) if request.headers["Authorization"] == "Bearer new" else refusal(401, "Unauthorized")

    async with ScriptedServer(check) as server:
        transport = server.transport(AuthInfo(token_file=str(token)))
        with pytest.raises(ApiError) as refused:
            await transport.request_bytes("POST", "/x")
        assert refused.value.status == 401
        token.write_text("new")
        await transport.request_bytes("POST", "/x")
        await transport.close()
    assert [each.headers["Authorization"] for each in server.seen] == ["Bearer old", "Bearer old", "Bearer new"]


# --- streams ----------------------------------------------------------------------------------------------


async def test_stream_comes_piece_by_piece_and_can_be_cut() -> None:
    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for i in range(3):
            await response.write(f"{i}\n".encode())
            await asyncio.sleep(0.02)
        return cut(request) if request.path == "/cut" else response

    async def read(transport: HttpTransport, path: str) -> bytes:
        async with transport.stream(path) as body:
            return b"".join([piece async for piece in body])

    async with ScriptedServer(stream) as server:
        transport = server.transport()
        assert await read(transport, "/whole") == b"0\n1\n2\n"
        with pytest.raises(TransportError, match="cut"):
            await read(transport, "/cut")
        await transport.close()


async def test_stream_waits_for_a_slow_reader() -> None:
    n_bytes = 20_000_000
    written = 0

    async def stream(request: web.Request) -> web.StreamResponse:
        nonlocal written
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(n_bytes // 100_000):
            await response.write(b"x" * 100_000)
            written += 100_000
        return response

    async with ScriptedServer(stream) as server:
        transport = server.transport()
        async with transport.stream("/x") as body:
            first = await anext(body)
            await asyncio.sleep(0.3)
            assert written < n_bytes
            assert len(first) + len(b"".join([piece async for piece in body])) == n_bytes
        await transport.close()


async def test_stream_that_is_refused() -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        return refusal(410, "Expired", "too old")

    async with ScriptedServer(refuse) as server:
        transport = server.transport()
        with pytest.raises(ApiError, match="too old"):
            async with transport.stream("/x"):
                pass
        await transport.close()


# --- the other loop ---------------------------------------------------------------------------------------


def _under_uvloop() -> None:
    async def exercise() -> None:
        async with ScriptedServer(echo) as server:
            transport = server.transport(max_connections=3)
            replies = await asyncio.gather(
                *(transport.request_bytes("POST", f"/{i}", {"i": i}) for i in range(50))
            )
            assert [decode(each)["body"] for each in replies] == [f'{{"i":{i}}}' for i in range(50)]
            async with transport.stream("/s") as body:
                assert b"/s" in b"".join([piece async for piece in body])
            await transport.close()
        assert server.n_connections == 4
        with pytest.raises(TransportError):
            await server.transport().request_bytes("GET", "/x")

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(exercise())


async def test_uvloop_behaves_the_same() -> None:
    await asyncio.to_thread(_under_uvloop)
