"""With a folder, SIGKILL at any moment loses no acknowledged write, and watchers resume."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bayplan.client import ApiError, ClientError, ConflictError, HttpTransport, ResourceExpiredError, load_access
from bayplan.clock import SystemClock

KILLS = 50
WRITERS = 8
#: A server lives until it has acknowledged one to so many writes, however long that takes.
MAX_WRITES = 12
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NURSERY = Path(__file__).with_name("embedded_process.py")


class Nursery:
    """Starts servers on one folder and kills them."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self.folder = folder
        self.pid = 0

    async def start(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("start\n")
        self._process.stdin.flush()
        line = await asyncio.to_thread(self._process.stdout.readline)
        self.pid = int(line.split()[0])

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.pid = 0


@contextmanager
def nursery(folder: Path) -> Iterator[Nursery]:
    with subprocess.Popen(  # noqa: S603  our own interpreter on our own file
        [sys.executable, NURSERY, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        servers = Nursery(process, folder)
        try:
            yield servers
        finally:
            if servers.pid:
                servers.kill()


class Writer:
    """Creates objects, increments a counter in one of them, and remembers what was acknowledged."""

    def __init__(self, number: int, transport: HttpTransport) -> None:
        self._number = number
        self._transport = transport
        self.created: set[str] = set()
        self.counted = 0
        self.versions: list[int] = []

    async def run(self) -> None:
        counter, tries = f"counter-{self._number}", 0
        while True:
            tries += 1
            try:
                await self._create(f"made-{self._number}-{tries}")
                await self._count(counter, tries)
            except ConflictError:
                continue  # written before the crash, and not acknowledged
            except ApiError:
                raise
            except ClientError:
                await asyncio.sleep(0.005)  # the server is gone for a moment

    async def _create(self, name: str) -> None:
        made = await self._transport.request_bytes("POST", CONFIG_MAPS, {"metadata": {"name": name}})
        self.created.add(name)
        self._acknowledged(msgspec.json.decode(made))

    async def _count(self, name: str, value: int) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"n": str(value)}}
        path, content_type = f"{CONFIG_MAPS}/{name}?fieldManager=test&force=true", "application/apply-patch+yaml"
        made = await self._transport.request_bytes("PATCH", path, body, content_type=content_type)
        self._acknowledged(msgspec.json.decode(made))
        self.counted = value

    def _acknowledged(self, obj: dict[str, Any]) -> None:
        self.versions.append(int(obj["metadata"]["resourceVersion"]))


class Watcher:
    """Follows all changes through all crashes, and computes the resulting state."""

    def __init__(self, transport: HttpTransport, version: int) -> None:
        self._transport = transport
        self.versions = [version]
        self.state: dict[str, Any] = {}

    async def run(self) -> None:
        while True:
            query = {"watch": "1", "resourceVersion": str(self.versions[-1])}
            try:
                async with self._transport.stream(CONFIG_MAPS, query) as body:
                    await self._follow(body)
            except ResourceExpiredError:
                raise
            except ClientError:
                await asyncio.sleep(0.005)

    async def _follow(self, body: Any) -> None:
        rest = b""
        async for data in body:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                event = msgspec.json.decode(line)
                assert event["type"] in ("ADDED", "MODIFIED"), event
                metadata = event["object"]["metadata"]
                self.versions.append(int(metadata["resourceVersion"]))
                self.state[metadata["name"]] = event["object"].get("data")


def _n_acknowledged(writers: list[Writer]) -> int:
    return sum(len(writer.versions) for writer in writers)


@pytest.mark.asyncio
async def test_fifty_kills_under_load_lose_nothing(tmp_path: Path) -> None:
    """No acknowledged write is lost, resourceVersions never go back, watchers resume."""
    seed = random.Random(6)  # noqa: S311
    with nursery(tmp_path) as servers:
        await servers.start()
        access = load_access(str(tmp_path / "kubeconfig"))
        transport = HttpTransport(access, SystemClock())
        writers = [Writer(number, transport) for number in range(WRITERS)]
        watcher = Watcher(transport, version=1)
        tasks = [asyncio.create_task(writer.run()) for writer in writers]
        tasks.append(asyncio.create_task(watcher.run()))
        for _ in range(KILLS):
            wanted = _n_acknowledged(writers) + seed.randint(1, MAX_WRITES)
            while _n_acknowledged(writers) < wanted:
                assert not any(task.done() for task in tasks), [task.exception() for task in tasks if task.done()]
                await asyncio.sleep(0.001)
            servers.kill()
            await servers.start()
        for task in tasks[:-1]:
            task.cancel()
        await asyncio.gather(*tasks[:-1], return_exceptions=True)
        final = msgspec.json.decode(await transport.request_bytes("GET", CONFIG_MAPS))
        while watcher.versions[-1] < max(int(each["metadata"]["resourceVersion"]) for each in final["items"]):
            await asyncio.sleep(0.01)
        tasks[-1].cancel()
        await asyncio.gather(tasks[-1], return_exceptions=True)
        await transport.close()

    stored = {each["metadata"]["name"]: each.get("data") for each in final["items"]}
    for number, writer in enumerate(writers):
        assert writer.created <= stored.keys()
        assert int(stored.get(f"counter-{number}", {"n": "0"})["n"]) >= writer.counted
        assert writer.versions == sorted(set(writer.versions))
    assert watcher.versions == sorted(set(watcher.versions))
    assert watcher.state == {name: data for name, data in stored.items() if name in watcher.state}
    assert stored.keys() - watcher.state.keys() <= {"kube-root-ca.crt"}
