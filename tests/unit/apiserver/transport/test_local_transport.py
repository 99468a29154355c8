"""The server without sockets: the same client code, the same responses."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.transport.local_transport import LocalTransport
from bayplan.client import ApiError, ConflictError, KubeClient, NotFoundError, TransportError
from bayplan.clock import SystemClock

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
pytestmark = pytest.mark.asyncio


@pytest.fixture
def client() -> KubeClient:
    clock = SystemClock()
    return KubeClient(LocalTransport(ApiServer(clock)), clock)


async def test_requests_and_their_answers(client: KubeClient) -> None:
    made = await client.request("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    patch = {"data": {"x": "1"}}
    patched = await client.request("PATCH", f"{CONFIG_MAPS}/a", patch)
    listed = await client.request("GET", CONFIG_MAPS, query={"labelSelector": "!app", "limit": 1})

    assert int(patched["metadata"]["resourceVersion"]) == int(made["metadata"]["resourceVersion"]) + 1
    assert [each["data"] for each in listed["items"]] == [{"x": "1"}]


@pytest.mark.parametrize(
    ("method", "path", "body", "error"),
    [
        ("GET", f"{CONFIG_MAPS}/nobody", None, NotFoundError),
        ("POST", CONFIG_MAPS, {"metadata": {"name": "there"}}, ConflictError),
        ("POST", CONFIG_MAPS, {"metadata": {"name": "Bad_Name"}}, ApiError),
    ],
    ids=["not found", "there already", "invalid"],
)
async def test_failures_are_the_clients_errors(
    client: KubeClient, method: str, path: str, body: object, error: type[ApiError]
) -> None:
    await client.request("POST", CONFIG_MAPS, {"metadata": {"name": "there"}})
    with pytest.raises(error):
        await client.request(method, path, body)


async def test_a_watch_follows_and_ends_with_its_block(client: KubeClient) -> None:
    async with client.stream(CONFIG_MAPS, {"watch": "1", "timeoutSeconds": 60}) as body:
        await client.request("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
        event = msgspec.json.decode(await anext(body))

    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
    with pytest.raises(StopAsyncIteration):
        await anext(body)


async def test_before_send_may_refuse() -> None:
    """For instance when the lease has expired: nothing is written."""
    server = ApiServer(SystemClock())
    before = server.store.version

    def refuse() -> None:
        raise PermissionError

    with pytest.raises(PermissionError):
        await LocalTransport(server).request_bytes(
            "POST", CONFIG_MAPS, {"metadata": {"name": "a"}}, before_send=refuse
        )
    assert server.store.version == before


async def test_a_closed_transport_says_so() -> None:
    transport = LocalTransport(ApiServer(SystemClock()))
    await transport.close()
    with pytest.raises(TransportError):
        await transport.request_bytes("GET", CONFIG_MAPS)


async def test_an_acknowledged_write_is_on_disk(tmp_path: Path) -> None:
    """An acknowledged write is there for the next process, although this one closed nothing."""
    server = ApiServer(SystemClock(), tmp_path)
    await LocalTransport(server).request_bytes("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})

    assert server.store.visible == server.store.version
    server.close()
