"""`python -m bench.e2e.null`: a scheduler without decisions, the upper bound for schedulers that bind one by one.

It watches pods as a scheduler does, binds those without a node round-robin, and optionally writes events.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec
import uvloop

from bayplan.client import HttpTransport, load_access
from bayplan.clock import SystemClock
from bench.e2e.workload import Object

#: Concurrent requests, as many as a busy scheduler has.
IN_FLIGHT = 32
_PODS = "/api/v1/pods"


class _Meta(msgspec.Struct):
    name: str
    namespace: str
    uid: str


class _Spec(msgspec.Struct):
    nodeName: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec


class _ListMeta(msgspec.Struct):
    resourceVersion: str


class _List(msgspec.Struct):
    metadata: _ListMeta
    items: list[_Pod]


class _Change(msgspec.Struct):
    type: str
    object: _Pod


class NullScheduler:
    """See the module docstring."""

    def __init__(self, transport: HttpTransport, n_nodes: int, *, events: bool) -> None:
        self._transport = transport
        self._n_nodes = n_nodes
        self._events = events
        self._pending: asyncio.Queue[_Meta] = asyncio.Queue()
        self._n_bound = 0

    async def run(self) -> None:
        listed = msgspec.json.decode(await self._transport.request_bytes("GET", _PODS), type=_List)
        for pod in listed.items:
            self._take(pod)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch(listed.metadata.resourceVersion))
            for _ in range(IN_FLIGHT):
                group.create_task(self._work())

    async def _watch(self, resource_version: str) -> None:
        decode, rest = msgspec.json.Decoder(_Change).decode, b""
        async with self._transport.stream(
            _PODS, {"watch": "true", "resourceVersion": resource_version, "timeoutSeconds": "3600"}
        ) as body:
            async for chunk in body:
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    change = decode(line)
                    if change.type == "ADDED":
                        self._take(change.object)

    def _take(self, pod: _Pod) -> None:
        if not pod.spec.nodeName:
            self._pending.put_nowait(pod.metadata)

    async def _work(self) -> None:
        while True:
            pod = await self._pending.get()
            node = f"node-{self._n_bound % self._n_nodes:05d}"
            self._n_bound += 1
            path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding"
            await self._transport.request_bytes("POST", path, _binding(pod, node))
            if self._events:
                path = f"/apis/events.k8s.io/v1/namespaces/{pod.namespace}/events"
                await self._transport.request_bytes("POST", path, _event(pod, node))


def _binding(pod: _Meta, node: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "target": {"kind": "Node", "name": node},
    }


def _event(pod: _Meta, node: str) -> Object:
    key = f"{pod.namespace}/{pod.name}"
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{pod.name}.{time.time_ns():x}", "namespace": pod.namespace},
        "eventTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "type": "Normal",
        "reason": "Scheduled",
        "action": "Binding",
        "note": f"Successfully assigned {key} to {node}",
        "reportingController": "default-scheduler",
        "reportingInstance": "null",
        "regarding": {"apiVersion": "v1", "kind": "Pod", **msgspec.structs.asdict(pod)},
    }


@click.command()
@click.option("--kubeconfig", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--nodes", "n_nodes", type=int, required=True)
@click.option("--events", is_flag=True, help="Also write an event for each pod.")
def main(kubeconfig: Path, n_nodes: int, events: bool) -> None:
    """Bind every pod, round-robin."""

    async def run() -> None:
        transport = HttpTransport(load_access(str(kubeconfig)), SystemClock(), max_connections=IN_FLIGHT)
        await NullScheduler(transport, n_nodes, events=events).run()

    uvloop.run(run())


if __name__ == "__main__":
    main()
