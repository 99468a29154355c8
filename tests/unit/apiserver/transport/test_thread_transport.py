"""The server in another thread: the same client code, the same responses, in the same order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.transport.local_transport import LocalTransport
from bayplan.apiserver.transport.thread_transport import Mailbox, ThreadTransport
from bayplan.client import KubeClient, NotFoundError, TransportError
from bayplan.clock import SystemClock
from bayplan.process.background_loop import BackgroundLoop

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def transport() -> AsyncIterator[ThreadTransport]:
    background = BackgroundLoop("server")
    local = LocalTransport(ApiServer(SystemClock()))
    yield ThreadTransport(local, Mailbox(background.loop), Mailbox(asyncio.get_running_loop()))
    background.close()


@pytest.fixture
def client(transport: ThreadTransport) -> KubeClient:
    return KubeClient(transport, SystemClock())


async def test_requests_are_handled_in_order(client: KubeClient) -> None:
    """Many at once: the versions rise in the order in which they were sent."""
    made = await asyncio.gather(
        *(client.request("POST", CONFIG_MAPS, {"metadata": {"name": f"c{number}"}}) for number in range(50))
    )
    versions = [int(each["metadata"]["resourceVersion"]) for each in made]
    assert versions == sorted(versions)
    assert len((await client.request("GET", CONFIG_MAPS))["items"]) == 50


async def test_failures_are_the_clients_errors(client: KubeClient) -> None:
    with pytest.raises(NotFoundError):
        await client.request("GET", f"{CONFIG_MAPS}/nobody")


async def test_a_body_that_cannot_be_encoded_fails_here(transport: ThreadTransport) -> None:
    with pytest.raises(TypeError):
        await transport.request_bytes("POST", CONFIG_MAPS, {"metadata": object()})


async def test_a_watch_follows_and_ends_with_its_block(client: KubeClient) -> None:
    async with client.stream(CONFIG_MAPS, {"watch": "1", "timeoutSeconds": 60}) as body:
        for name in ("a", "b"):
            await client.request("POST", CONFIG_MAPS, {"metadata": {"name": name}})
        lines: list[bytes] = []
        while len(lines) < 2:
            lines += (await anext(body)).splitlines()
    assert [msgspec.json.decode(line)["object"]["metadata"]["name"] for line in lines] == ["a", "b"]
    async with asyncio.timeout(60):
        assert [piece async for piece in body] == []


async def test_a_watch_that_cannot_begin_fails(client: KubeClient) -> None:
    with pytest.raises(NotFoundError):
        async with client.stream("/api/v1/nothings", {"watch": "1"}):
            pass


async def test_before_send_may_refuse(transport: ThreadTransport) -> None:
    def refuse() -> None:
        raise PermissionError

    with pytest.raises(PermissionError):
        await transport.request_bytes("POST", CONFIG_MAPS, {"metadata": {"name": "a"}}, before_send=refuse)
    assert msgspec.json.decode(await transport.request_bytes("GET", CONFIG_MAPS))["items"] == []


async def test_a_closed_transport_says_so(transport: ThreadTransport) -> None:
    await transport.close()
    with pytest.raises(TransportError):
        await transport.request_bytes("GET", CONFIG_MAPS)


async def test_with_a_folder_responses_wait_for_the_disk(tmp_path: Path) -> None:
    """As without threads: what was answered is there after a crash."""
    background = BackgroundLoop("server")
    server = ApiServer(SystemClock(), data=tmp_path)
    here = Mailbox(asyncio.get_running_loop())
    client = KubeClient(ThreadTransport(LocalTransport(server), Mailbox(background.loop), here), SystemClock())
    await client.request("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    assert server.store.visible == server.store.version
    background.close()
    server.close()


async def test_a_mailbox_loses_nothing() -> None:
    """Several threads post at once; what one thread posts arrives in its order."""
    mailbox = Mailbox(asyncio.get_running_loop())
    arrived: list[tuple[int, int]] = []
    n_each = 2_000

    def post(sender: int) -> None:
        for number in range(n_each):
            mailbox.post(lambda number=number: arrived.append((sender, number)))  # type: ignore[misc]

    threads = [threading.Thread(target=post, args=(sender,)) for sender in range(3)]
    for thread in threads:
        thread.start()
    async with asyncio.timeout(60):
        while len(arrived) < 3 * n_each:
            await asyncio.sleep(0)
    for sender in range(3):
        assert [number for who, number in arrived if who == sender] == list(range(n_each))
