"""The extender client over real sockets: requests, TLS, timeouts, dead connections, the breaker."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trustme
from aiohttp import web

from bayplan.client import AccessError
from bayplan.config.duration import Duration
from bayplan.config.types import Extender, ExtenderManagedResource, ExtenderTLSConfig
from bayplan.extender import BreakerSettings, HttpExtender, make_extenders
from bayplan.framework.extenders import ExtenderError, FilterResponse
from bayplan.model import Pod
from bayplan.testing import Harness, make_node, make_pod

pytestmark = pytest.mark.asyncio

NODES = Harness(nodes=[make_node("a"), make_node("b")]).core.cache.snapshot().nodes


class Served:
    """An extender on a loopback port that sends the same response to everything."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer if answer is not None else {}
        self.requests: list[web.BaseRequest] = []
        self.bodies: list[Any] = []
        self.silent = asyncio.Event()
        self.port = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(json.loads(await request.read()))
        while self.silent.is_set():
            await asyncio.sleep(0.01)
        return web.Response(text=json.dumps(self.answer))


@asynccontextmanager
async def serving(answer: Any = None, context: ssl.SSLContext | None = None) -> AsyncIterator[Served]:
    served = Served(answer)
    runner = web.ServerRunner(web.Server(served.handle), shutdown_timeout=0.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    served.port = runner.addresses[0][1]
    try:
        yield served
    finally:
        await runner.cleanup()


@asynccontextmanager
async def connected(config: Extender, **options: Any) -> AsyncIterator[HttpExtender]:
    extender = HttpExtender(config, **options)
    try:
        yield extender
    finally:
        await extender.close()


def at(served: Served, scheme: str = "http", **fields: Any) -> Extender:
    return Extender(url_prefix=f"{scheme}://127.0.0.1:{served.port}/x/", filter_verb="f", **fields)


# --- requests -------------------------------------------------------------------------------------------


async def test_verbs_are_appended_to_the_prefix() -> None:
    """One slash between them, however the prefix ends; JSON, and no headers that Go's client does not send."""
    async with serving({"NodeNames": ["b"]}) as served, connected(at(served, node_cache_capable=True)) as extender:
        assert await extender.filter(make_pod("p"), NODES) == FilterResponse(("b",))

    (request,) = served.requests
    assert (request.method, request.path, request.content_type) == ("POST", "/x/f", "application/json")
    assert "Accept" not in request.headers
    assert served.bodies[0]["NodeNames"] == ["a", "b"]
    assert served.bodies[0]["Nodes"] is None


async def test_a_password_in_the_url_is_shown() -> None:
    async with serving() as served:
        config = Extender(url_prefix=f"http://me:s%20t@127.0.0.1:{served.port}", bind_verb="b")
        async with connected(config) as extender:
            await extender.bind(make_pod("p"), "a")

    assert served.requests[0].headers["Authorization"] == "Basic " + base64.b64encode(b"me:s t").decode()


async def test_connections_are_kept() -> None:
    async with serving() as served, connected(at(served)) as extender:
        for _ in range(3):
            await extender.filter(make_pod("p"), NODES)

    assert len({request.transport for request in served.requests}) == 1


async def test_a_missing_response_times_out() -> None:
    async with serving() as served, connected(at(served, http_timeout=Duration.parse("50ms"))) as extender:
        served.silent.set()
        with pytest.raises(ExtenderError, match=r'^Post "http://.*/x/f": context deadline exceeded'):
            await extender.filter(make_pod("p"), NODES)
        served.silent.clear()

        assert await extender.filter(make_pod("p"), NODES) == FilterResponse()


@pytest.mark.parametrize(
    ("ask", "n_connections"),
    [
        pytest.param(lambda extender: extender.filter(make_pod("p"), NODES), 2, id="filter is asked again"),
        pytest.param(lambda extender: extender.bind(make_pod("p"), "a"), 1, id="bind is not"),
    ],
)
async def test_a_dead_pooled_connection(ask: Callable[[HttpExtender], Any], n_connections: int) -> None:
    """Without a response a query can be repeated; a bind may have happened."""
    n_accepted = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal n_accepted
        n_accepted += 1
        is_first = n_accepted == 1
        while await _read_request(reader):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            if is_first:
                await _read_request(reader)
                break
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    config = Extender(url_prefix=f"http://127.0.0.1:{port}", filter_verb="f", bind_verb="b")
    async with connected(config) as extender:
        await ask(extender)
        if n_connections == 1:
            with pytest.raises(ExtenderError, match="the connection was cut"):
                await ask(extender)
        else:
            await ask(extender)
    server.close()
    await server.wait_closed()
    await asyncio.sleep(0.01)  # let the other ends notice

    assert n_accepted == n_connections


async def _read_request(reader: asyncio.StreamReader) -> bool:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return False
    length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    await reader.readexactly(int(length.split(b":")[1]))
    return True


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x00\xff\x00", id="not HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}", id="cut"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}", id="no length"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", id="broken chunks"),
        pytest.param(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", id="somewhere else"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n<html>", id="a page"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", id="no content"),
    ],
)
async def test_malformed_responses(answer: bytes) -> None:
    """Each is an ExtenderError, and none breaks the client."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _read_request(reader)
        writer.write(answer)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    config = Extender(url_prefix=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", filter_verb="f")
    async with connected(config) as extender:
        for _ in range(2):
            with pytest.raises(ExtenderError):
                await extender.filter(make_pod("p"), NODES)
    server.close()
    await server.wait_closed()
    await asyncio.sleep(0.01)  # let the other ends notice


# --- TLS ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "extender.example").configure_cert(context)
    return context


@pytest.mark.parametrize(
    ("fields", "trusted"),
    [
        pytest.param({"enable_https": True}, True, id="enableHTTPS without authority trusts anybody"),
        pytest.param({}, False, id="https without enableHTTPS trusts the system"),
        pytest.param({"tls_config": {"insecure": True}}, True, id="insecure trusts anybody"),
        pytest.param({"enable_https": True, "tls_config": {"ca_data": "ours"}}, True, id="the right authority"),
        pytest.param({"enable_https": True, "tls_config": {"ca_data": "other"}}, False, id="another authority"),
        pytest.param(
            {"tls_config": {"ca_data": "ours", "server_name": "extender.example"}}, True, id="the name given"
        ),
        pytest.param({"tls_config": {"ca_data": "ours", "server_name": "x"}}, False, id="another name"),
    ],
)
async def test_who_is_trusted(
    fields: dict[str, Any], trusted: bool, authority: trustme.CA, context: ssl.SSLContext
) -> None:
    """As client-go interprets a TLS configuration."""
    if (tls := fields.get("tls_config")) is not None:
        pems = {"ours": authority.cert_pem.bytes(), "other": trustme.CA().cert_pem.bytes()}
        given: dict[str, Any] = {**tls, "ca_data": pems.get(tls.get("ca_data", ""), b"")}
        fields = {**fields, "tls_config": ExtenderTLSConfig(**given)}
    async with serving({}, context) as served, connected(at(served, "https", **fields)) as extender:
        if trusted:
            assert await extender.filter(make_pod("p"), NODES) == FilterResponse()
            return
        with pytest.raises(ExtenderError, match="failed to verify certificate"):
            await extender.filter(make_pod("p"), NODES)


async def test_a_certificate_is_shown(authority: trustme.CA, context: ssl.SSLContext) -> None:
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    ours = authority.issue_cert("scheduler@example.com")
    tls = ExtenderTLSConfig(
        ca_data=authority.cert_pem.bytes(),
        cert_data=ours.cert_chain_pems[0].bytes(),
        key_data=ours.private_key_pem.bytes(),
    )
    async with serving({}, context) as served, connected(at(served, "https", tls_config=tls)) as extender:
        assert await extender.filter(make_pod("p"), NODES) == FilterResponse()


@pytest.mark.parametrize(
    ("config", "error"),
    [
        pytest.param(Extender(url_prefix="ftp://x"), "urlPrefix is not an http or https URL", id="another scheme"),
        pytest.param(Extender(url_prefix="x/y"), "urlPrefix is not an http or https URL", id="no URL"),
        pytest.param(
            Extender(url_prefix="https://x", tls_config=ExtenderTLSConfig(insecure=True, ca_file="/x")),
            "only one is allowed",
            id="insecure, with an authority",
        ),
        pytest.param(
            Extender(url_prefix="https://x", tls_config=ExtenderTLSConfig(ca_file="/not/there")),
            "extender https://x: cannot read the certificate authority: /not/there",
            id="a file that is not there",
        ),
        pytest.param(
            Extender(url_prefix="https://x", tls_config=ExtenderTLSConfig(cert_data=b"x")),
            "needs a certificate and its key",
            id="a certificate without key",
        ),
    ],
)
async def test_invalid_configuration_is_refused_at_once(config: Extender, error: str) -> None:
    with pytest.raises(AccessError, match=error):
        HttpExtender(config)


# --- who is asked ---------------------------------------------------------------------------------------


GPU = {"example.com/gpu": "1"}


@pytest.mark.parametrize(
    ("pod", "interested"),
    [
        pytest.param(make_pod("p"), False, id="asks for nothing"),
        pytest.param(make_pod("p", requests=GPU), True, id="requests it"),
        pytest.param(
            make_pod("p", spec={"containers": [{"name": "c", "resources": {"limits": GPU}}]}), True, id="limits it"
        ),
        pytest.param(
            make_pod("p", spec={"initContainers": [{"name": "i", "resources": {"requests": GPU}}]}),
            True,
            id="an init container asks",
        ),
        pytest.param(make_pod("p", requests={"example.com/other": "1"}), False, id="asks for something else"),
    ],
)
async def test_managed_resources(pod: Pod, interested: bool) -> None:
    """An extender that manages resources only gets pods that request one; the others get all."""
    managed = (ExtenderManagedResource(name="example.com/gpu"),)

    assert (
        HttpExtender(Extender(url_prefix="http://x", managed_resources=managed)).is_interested(pod) is interested
    )
    assert HttpExtender(Extender(url_prefix="http://x")).is_interested(pod)


async def test_ignorable_extenders_come_last() -> None:
    configs = [Extender(url_prefix=f"http://{name}", ignorable=name in "ac") for name in "abcd"]

    assert [each.name for each in make_extenders(configs)] == ["http://b", "http://d", "http://a", "http://c"]


# --- looking after it -----------------------------------------------------------------------------------


async def test_the_breaker_stops_calls() -> None:
    """After two failures it is not called any more; without a breaker it always is."""
    async with serving([]) as served:
        for breaker, n_asked in ((None, 4), (BreakerSettings(2), 2)):
            served.requests.clear()
            async with connected(at(served), breaker=breaker) as extender:
                for _ in range(4):
                    with pytest.raises(ExtenderError):
                        await extender.filter(make_pod("p"), NODES)

            assert len(served.requests) == n_asked


async def test_a_rejection_is_not_a_failure() -> None:
    """An extender that rejects a pod works: the breaker stays closed."""
    async with serving({"Error": "no"}) as served, connected(at(served), breaker=BreakerSettings(1)) as extender:
        for _ in range(2):
            with pytest.raises(ExtenderError, match=r"^no$"):
                await extender.filter(make_pod("p"), NODES)

    assert len(served.requests) == 2


async def test_every_request_is_observed() -> None:
    seen: list[tuple[Any, ...]] = []

    class Observer:
        def extender_called(self, extender: str, *, prioritizes: bool) -> None:
            seen.append(("asked", prioritizes))

        def extender_responded(
            self, extender: str, verb: str, seconds: float, *, failed: bool, prioritizes: bool
        ) -> None:
            seen.append((verb, failed, prioritizes))

    async with serving([]) as served, connected(at(served, prioritize_verb="p"), observer=Observer()) as extender:
        await extender.prioritize(make_pod("p"), NODES)
        with pytest.raises(ExtenderError):
            await extender.filter(make_pod("p"), NODES)

    assert seen == [("asked", True), ("p", False, True), ("asked", False), ("f", True, False)]
