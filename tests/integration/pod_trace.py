"""Traces one plain pod through a live scheduler: from the watch event's bytes to the bind request's bytes.

The scheduler runs as `bayplan run` does, against a server in another thread that speaks HTTP/2 for requests and
HTTP/1.1 for watches, as a kube-apiserver does to us. Functions are counted in the scheduler's thread only.

    python -m tests.integration.pod_trace           print what the pod goes through
    python -m tests.integration.pod_trace --write   bring docs/life-of-a-pod.md up to date
"""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple
from unittest import mock

from tests.integration.http2_server import Asked, Http2Server, Peer
from tests.integration.scripted_server import authority

import bayplan
from bayplan import config
from bayplan.client import EventBroadcaster, KubeClient, event_client
from bayplan.clock import SystemClock
from bayplan.observe.observers import SchedulerMetrics
from bayplan.scheduler import default_registry
from bayplan.shell.service import SchedulerService

SOURCE = Path(bayplan.__file__).parent
PODS = "/api/v1/pods"
WAIT_SECONDS = 30.0
#: The answers to the last watches are read, and nothing else goes on.
QUIET_SECONDS = 0.5

BEFORE, DECISION, AFTER = "before", "decision", "after"


class Step(NamedTuple):
    """A function that the pod goes through, when it is first called."""

    stage: str
    #: Relative to the package, with slashes: `core/schedule_one.py`.
    file: str
    name: str
    line: int

    @property
    def is_plugin(self) -> bool:
        return self.file.startswith("plugins/")


def node(name: str) -> dict[str, Any]:
    resources = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "metadata": {"name": name, "uid": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": resources, "capacity": resources},
    }


def plain_pod(name: str) -> dict[str, Any]:
    """No volumes, no affinity, the default profile."""
    requests = {"cpu": "100m", "memory": "100Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": "20"},
        "spec": {
            "schedulerName": "default-scheduler",
            "priority": 0,
            "containers": [{"name": "c", "image": "nginx", "resources": {"requests": requests}}],
        },
        "status": {"phase": "Pending"},
    }


class Server:
    """An API server of few words, in a thread of its own."""

    def __init__(self) -> None:
        #: The kinds that were listed, and those that are watched.
        self.listed: set[str] = set()
        self.watched: set[str] = set()
        self.is_bind_requested = threading.Event()
        self.may_answer = threading.Event()
        self.http2: Http2Server
        self._loop: asyncio.AbstractEventLoop
        self._watch: _Http1
        self._is_up = threading.Event()
        self._stop: asyncio.Event
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="API server")

    def __enter__(self) -> Server:
        self._thread.start()
        assert self._is_up.wait(WAIT_SECONDS)
        return self

    def __exit__(self, *exc: object) -> None:
        self.may_answer.set()
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self.http2 = Http2Server(self._handle)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["h2", "http/1.1"])
        authority().issue_cert("127.0.0.1").configure_cert(context)
        self.http2._server = await self._loop.create_server(lambda: _ByAlpn(self), "127.0.0.1", 0, ssl=context)
        self._is_up.set()
        await self._stop.wait()
        self.http2._server.close()
        for peer in self.http2.peers:
            peer.cut()

    def _handle(self, asked: Asked) -> None:
        if asked.headers[":method"] == "GET":
            asked.answer(self.list(asked.path))
            return
        if asked.path.endswith("/binding"):
            self.is_bind_requested.set()
            # Whatever follows from the answer is not part of the trace.
            self._loop.run_in_executor(None, self._answer_bind, asked)
            return
        asked.answer(asked.body, 201)

    def _answer_bind(self, asked: Asked) -> None:
        self.may_answer.wait(WAIT_SECONDS)
        self._loop.call_soon_threadsafe(asked.answer, b'{"kind": "Status", "status": "Success"}', 201)

    def list(self, path: str) -> bytes:
        self.listed.add(path.split("?")[0])
        return listing(path)

    def watch(self, path: str, connection: _Http1) -> None:
        self.watched.add(path.split("?")[0])
        if path.startswith(PODS + "?"):
            self._watch = connection

    @property
    def is_quiet(self) -> bool:
        """Whether every kind that was listed is watched."""
        return bool(self.watched) and self.listed <= self.watched

    def send(self, pod: dict[str, Any]) -> None:
        """A watch event: the pod was created."""
        event = json.dumps({"type": "ADDED", "object": pod}).encode() + b"\n"
        self._loop.call_soon_threadsafe(self._watch.send_chunk, event)


def listing(path: str) -> bytes:
    items = [node(f"n{i}") for i in range(5)] if path.startswith("/api/v1/nodes") else []
    return json.dumps({"metadata": {"resourceVersion": "10"}, "items": items}).encode()


class _ByAlpn(asyncio.Protocol):
    """HTTP/2 or HTTP/1.1, as agreed upon in the handshake."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._protocol: Peer | _Http1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        is_http2 = transport.get_extra_info("ssl_object").selected_alpn_protocol() == "h2"
        self._protocol = Peer(self._server.http2) if is_http2 else _Http1(self._server)
        self._protocol.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._protocol.data_received(data)


class _Http1(asyncio.Protocol):
    """GET only: lists and watches."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._received = b""
        self._transport: asyncio.WriteTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, self._received = self._received.split(b"\r\n\r\n", 1)
            path = head.split(b" ", 2)[1].decode()
            if "watch=" not in path:
                body = self._server.list(path)
                self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
                continue
            self._transport.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            self._server.watch(path, self)

    def send_chunk(self, data: bytes) -> None:
        self._transport.write(b"%x\r\n%b\r\n" % (len(data), data))


class Tracer:
    """Notes the functions of `bayplan` that are called in this thread."""

    def __init__(self) -> None:
        self.steps: dict[tuple[str, CodeType], Step] = {}
        self._stage = BEFORE

    @contextmanager
    def tracing(self) -> Iterator[None]:
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(str(SOURCE)):
            return
        name = code.co_qualname
        if event == "call":
            if name == "SchedulingQueue.pop" and self._stage == BEFORE:
                self._stage = DECISION
            key = self._stage, code
            if key not in self.steps:
                file = Path(code.co_filename).relative_to(SOURCE).as_posix()
                self.steps[key] = Step(self._stage, file, name, code.co_firstlineno)
        elif event == "return" and name == "Cache.assume":
            self._stage = AFTER
        elif event == "return" and name == "Http2Connection._flush" and self._stage == AFTER:
            # The bytes of the bind request are with the operating system.
            sys.setprofile(None)


async def _trace(server: Server) -> list[Step]:
    clock, registry = SystemClock(), default_registry()
    transport = server.http2.transport()
    client, events = KubeClient(transport, clock), event_client(transport, clock)
    broadcaster, stop, tracer = EventBroadcaster(events, clock), asyncio.Event(), Tracer()
    # One attempt in ten is timed plugin by plugin; this one is not.
    metrics = SchedulerMetrics(clock.now, rng=lambda: 1.0)
    service = SchedulerService(
        config.default(registry), registry, client, broadcaster, clock=clock, seed=1, metrics=metrics
    )
    await service.sync()
    scheduling = asyncio.create_task(service.schedule(stop))
    await _until(lambda: server.is_quiet)
    await asyncio.sleep(QUIET_SECONDS)
    with tracer.tracing():
        server.send(plain_pod("p"))
        await _until(server.is_bind_requested.is_set)
    server.may_answer.set()
    stop.set()
    await scheduling
    await service.close()
    await events.close()
    await client.close()
    return list(tracer.steps.values())


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


def trace_in_new_process() -> list[Step]:
    """The same in a process in which nothing has run before: caches of the process are empty."""
    arguments = [sys.executable, "-m", "tests.integration.pod_trace", "--json"]
    done = subprocess.run(arguments, check=True, capture_output=True, timeout=2 * WAIT_SECONDS)  # noqa: S603
    return [Step(*step) for step in json.loads(done.stdout)]


def trace() -> list[Step]:
    """Every function that a plain pod goes through, in the order of the first call; once for each stage."""
    # However slow the machine is while it is traced, the loop tries pods in one go, nothing is logged as slow, and
    # no timer of a connection comes in between.
    limits = (
        "shell.service.SLICE_SECONDS",
        "core.schedule_one.SLOW_SECONDS",
        "framework.calls.SLOW_SECONDS",
        "client.connection_pool._CHECK_SECONDS",
    )
    with Server() as server, ExitStack() as patches:
        for limit in limits:
            patches.enter_context(mock.patch(f"bayplan.{limit}", WAIT_SECONDS))
        return asyncio.run(_trace(server))


if __name__ == "__main__":
    from tests.integration.life_of_a_pod import main

    if "--json" in sys.argv:
        print(json.dumps(trace()))
    else:
        main(trace(), write="--write" in sys.argv)
