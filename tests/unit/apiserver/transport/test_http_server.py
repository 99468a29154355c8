"""HTTPS: authentication, connections, and responses on the wire."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from cryptography import x509

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.rest.handler import MAX_BODY_BYTES
from bayplan.apiserver.transport.http_server import HttpServer
from bayplan.clock import SystemClock
from bayplan.server.serving_certificates import ServingError, is_good_for

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class Wire:
    """A connection on which a test writes every byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(
        self, method: str, path: str, headers: dict[str, str], body: bytes = b""
    ) -> tuple[int, dict[str, str], bytes]:
        """One request and its whole response."""
        self.send(method, path, headers, body)
        status, received = await self.head()
        return status, received, await self.reader.readexactly(int(received["content-length"]))

    def send(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> None:
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        self.writer.write("\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body)

    async def head(self) -> tuple[int, dict[str, str]]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        first, *rest = head.strip().split("\r\n")
        return int(first.split()[1]), {line.split(": ")[0].lower(): line.split(": ", 1)[1] for line in rest}

    async def chunk(self) -> bytes:
        size = int((await self.reader.readuntil(b"\r\n")).strip(), 16)
        return (await self.reader.readexactly(size + 2))[:-2]


@pytest_asyncio.fixture
async def server() -> AsyncIterator[HttpServer]:
    served = HttpServer(ApiServer(SystemClock()))
    await served.start()
    yield served
    await served.stop()


@pytest_asyncio.fixture
async def wire(server: HttpServer) -> AsyncIterator[Wire]:
    connected = await connect(server)
    yield connected
    connected.writer.close()


async def connect(server: HttpServer) -> Wire:
    context = ssl.create_default_context(cadata=server.certificate.decode())
    return Wire(*await asyncio.open_connection("127.0.0.1", server.port, ssl=context))


def trusted(server: HttpServer) -> dict[str, str]:
    return {"Host": f"127.0.0.1:{server.port}", "Authorization": f"Bearer {server.token}"}


def status_of(body: bytes) -> tuple[str, int]:
    status: dict[str, Any] = json.loads(body)
    assert status["kind"] == "Status"
    return status["reason"], status["code"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "shown",
    [
        pytest.param({}, id="no token"),
        pytest.param({"Authorization": "Bearer wrong"}, id="a wrong token"),
        pytest.param({"Authorization": "Bearer"}, id="an empty token"),
        pytest.param({"Authorization": "Basic YWRtaW46YWRtaW4="}, id="a password"),
    ],
)
async def test_requests_without_the_token_are_refused(
    server: HttpServer, wire: Wire, shown: dict[str, str]
) -> None:
    """Without the token the response is a 401 Status."""
    status, _, body = await wire.ask("GET", CONFIG_MAPS, {"Host": "localhost", **shown})

    assert status == 401
    assert status_of(body) == ("Unauthorized", 401)


@pytest.mark.asyncio
@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz", "/version"])
async def test_health_and_version_are_public(wire: Wire, path: str) -> None:
    """As in Kubernetes' default roles; a wrong token is still refused."""
    assert (await wire.ask("GET", path, {"Host": "localhost"}))[0] == 200
    assert (await wire.ask("GET", path, {"Host": "localhost", "Authorization": "Bearer wrong"}))[0] == 401


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param({"Host": "localhost"}, 200, id="localhost"),
        pytest.param({"Host": "localhost:8443"}, 200, id="a forwarded port"),
        pytest.param({"Host": "[::1]:6443"}, 200, id="IPv6 loopback"),
        pytest.param({"Host": "evil.example.com"}, 403, id="another host"),
        pytest.param({"Host": "127.0.0.1.evil.example.com"}, 403, id="a host that begins like ours"),
        pytest.param({"Host": ""}, 403, id="no host"),
        pytest.param({"Host": "localhost", "Origin": "https://localhost:3000"}, 200, id="a page from here"),
        pytest.param({"Host": "localhost", "Origin": "https://evil.example.com"}, 403, id="a page from elsewhere"),
        pytest.param({"Host": "localhost", "Origin": "null"}, 403, id="a page from nowhere"),
    ],
)
async def test_other_hosts_and_origins_are_refused(
    server: HttpServer, wire: Wire, headers: dict[str, str], expected: int
) -> None:
    """A web page that redirects a browser here, by DNS or by a script, is refused even with the token."""
    status, _, _ = await wire.ask("GET", "/livez", {"Authorization": f"Bearer {server.token}", **headers})

    assert status == expected


@pytest.mark.asyncio
async def test_a_connection_serves_many_requests(server: HttpServer, wire: Wire) -> None:
    """Also when they are pipelined: responses keep the order."""
    for i in range(3):
        body = json.dumps({"metadata": {"name": f"c{i}"}}).encode()
        wire.send("POST", CONFIG_MAPS, trusted(server), body)
    names = []
    for _ in range(3):
        status, headers = await wire.head()
        names.append(json.loads(await wire.reader.readexactly(int(headers["content-length"])))["metadata"]["name"])
        assert status == 201

    assert names == ["c0", "c1", "c2"]


@pytest.mark.asyncio
async def test_a_body_beyond_the_limit_is_refused(server: HttpServer, wire: Wire) -> None:
    """The limit is kube-apiserver's, and the connection stays open."""
    body = b'{"data":{"x":"%b"}}' % (b"x" * MAX_BODY_BYTES)
    status, _, answer = await wire.ask("POST", CONFIG_MAPS, trusted(server), body)

    assert status == 413
    assert status_of(answer) == ("RequestEntityTooLarge", 413)
    assert (await wire.ask("GET", "/livez", trusted(server)))[0] == 200


@pytest.mark.asyncio
async def test_warnings_are_headers(server: HttpServer, wire: Wire) -> None:
    """`Warning: 299 - "…"`, quotes escaped, as kubectl reads them."""
    body = b'{"metadata":{"name":"a"},"colour":"red"}'
    _, headers, _ = await wire.ask("POST", CONFIG_MAPS, trusted(server), body)

    assert headers["warning"] == '299 - "unknown field \\"colour\\""'


@pytest.mark.asyncio
async def test_a_watch_is_a_stream_of_lines(server: HttpServer, wire: Wire) -> None:
    """Each change is sent when it happens, on a connection that stays open."""
    wire.send("GET", f"{CONFIG_MAPS}?watch=1", trusted(server))
    status, headers = await wire.head()
    other = await connect(server)
    await other.ask("POST", CONFIG_MAPS, trusted(server), b'{"metadata":{"name":"a"}}')
    event = json.loads(await wire.chunk())
    other.writer.close()

    assert (status, headers["transfer-encoding"]) == (200, "chunked")
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")


@pytest.mark.asyncio
async def test_a_lost_client_leaves_no_watch_behind(server: HttpServer) -> None:
    wire = await connect(server)
    wire.send("GET", f"{CONFIG_MAPS}?watch=1", trusted(server))
    await wire.head()
    wire.writer.transport.abort()
    while server.connections:
        await asyncio.sleep(0.01)

    assert not server.api.store._collection("configmaps").subscribers


@pytest.mark.asyncio
async def test_stop_ends_watches_cleanly(server: HttpServer, wire: Wire) -> None:
    """A client sees the end of its watch, not a broken stream, and then the connection closes."""
    wire.send("GET", f"{CONFIG_MAPS}?watch=1", trusted(server))
    await wire.head()
    await server.stop()

    assert await wire.reader.read() == b"0\r\n\r\n"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(b"\x16\x03\x01 nonsense\r\n\r\n", id="no HTTP"),
        pytest.param(
            b"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", id="a negative length"
        ),
    ],
)
async def test_malformed_requests_get_an_error_and_close(server: HttpServer, wire: Wire, garbage: bytes) -> None:
    wire.writer.write(garbage)
    status, _ = await wire.head()
    await wire.reader.read()

    assert status == 400
    assert wire.reader.at_eof()


@pytest.mark.asyncio
async def test_a_head_request_has_no_body(server: HttpServer, wire: Wire) -> None:
    wire.send("HEAD", "/livez", trusted(server))
    status, headers = await wire.head()

    assert (status, headers["content-length"]) == (200, "2")
    assert (await wire.ask("GET", "/livez", trusted(server)))[2] == b"ok"


@pytest.mark.asyncio
async def test_the_kubeconfig_has_all_that_a_client_needs(server: HttpServer) -> None:
    config = yaml.safe_load(server.kubeconfig())

    assert config["clusters"][0]["cluster"]["server"] == f"https://127.0.0.1:{server.port}"
    assert config["users"][0]["user"]["token"] == server.token
    assert config["current-context"] == config["contexts"][0]["name"]


@pytest.mark.parametrize(("host", "url"), [("0.0.0.0", "https://127.0.0.1:1"), ("::", "https://[::1]:1")])  # noqa: S104
def test_a_wildcard_address_has_the_names_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, host: str, url: str
) -> None:
    """Clients get a reachable address; others may use the machine's names, and no more."""
    monkeypatch.setattr("socket.gethostname", lambda: "Ship")
    monkeypatch.setattr("socket.getaddrinfo", lambda *_: [(0, 0, 0, "", ("198.51.100.7", 0))])
    server = HttpServer(ApiServer(SystemClock()), host=host, port=1)

    assert server.url == url
    for name in ("localhost", "127.0.0.1:6443", "[::1]:6443", "ship:6443", "198.51.100.7"):
        server.check_origin(name, None)
    with pytest.raises(StatusError, match="which is not this server"):
        server.check_origin("ship.evil.example.com", None)
    certificate = x509.load_pem_x509_certificate(server.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"localhost", "ship"} <= set(names.get_values_for_type(x509.DNSName))
    assert "198.51.100.7" in map(str, names.get_values_for_type(x509.IPAddress))


@pytest.mark.asyncio
async def test_an_unavailable_address_is_an_error() -> None:
    taken = HttpServer(ApiServer(SystemClock()))
    await taken.start()
    with pytest.raises(ServingError, match=f"^cannot serve on 127.0.0.1:{taken.port}: Address already in use$"):
        await HttpServer(ApiServer(SystemClock()), port=taken.port).start()
    await taken.stop()


@pytest.mark.asyncio
async def test_a_folder_keeps_certificate_and_token(tmp_path: Path) -> None:
    """A kubeconfig still works after a restart; only the owner can read the key and the token."""
    shown = []
    for _ in range(2):
        api = ApiServer(SystemClock(), tmp_path)
        server = HttpServer(api)
        shown.append((server.certificate, server.token))
        api.close()

    assert shown[0] == shown[1]
    moved = HttpServer(ApiServer(SystemClock(), tmp_path), host="198.51.100.7")
    moved.api.close()
    assert moved.token == shown[0][1]
    assert is_good_for(moved.certificate, ["198.51.100.7", "localhost"])
    assert not is_good_for(shown[0][0], ["198.51.100.7"])
    assert {file.stat().st_mode & 0o077 for file in tmp_path.glob("a*.*")} == {0}
