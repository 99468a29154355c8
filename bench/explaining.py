"""`python -m bench.explaining`: what explanations cost at 5,000 nodes and 50,000 pods.

1. A running scheduler: seconds for an answer from the record, and with suggestions; and how much scheduling slows
   down while ten answers are asked for in each second. The service is the real one; binds are answered at once.
   Turns with and without questions alternate, and CPU time is measured, because the machine may be shared. The
   garbage collector is configured as in `bayplan run`: else a full collection, which takes as long as a turn's
   questions twenty times over, happens in one turn or another.
2. A cluster without Bayplan: seconds for `bayplan explain`, reading everything. The cluster is the embedded API
   server, because filling a real one takes long.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import click
import msgspec

from bayplan import config
from bayplan.client import EventBroadcaster, HttpTransport, KubeClient, load_access
from bayplan.clock import SystemClock
from bayplan.core.messages import ObjectChanged
from bayplan.model import Node, Pod
from bayplan.process.garbage_collection import GcTuner
from bayplan.process.inspection import Inspections
from bayplan.scheduler import default_registry
from bayplan.server.http_endpoints import EndpointRequest
from bayplan.shell.service import SchedulerService
from bench import apiserver

QUESTIONS_PER_SECOND = 10
ZONES = 3


class Anybody:
    """A visitor who may read everything."""

    async def may(self, verb: str, resource: str, namespace: str = "") -> bool:
        return True


class InstantCluster:
    """Stands for the client and the events of an API server: binds succeed at once, and the watch shows them."""

    def __init__(self) -> None:
        self.service: SchedulerService
        self.bound: list[Pod] = []

    async def bind(self, pod: Pod, node_name: str) -> None:
        placed = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node_name))
        self.bound.append(placed)
        self.service.feed.object_changed(pod, placed)

    def recorder(self, name: str) -> InstantCluster:
        return self

    def event(self, *arguments: Any, **fields: Any) -> None: ...

    async def stop(self) -> None: ...

    def __getattr__(self, name: str) -> Any:
        async def nothing(*arguments: Any, **fields: Any) -> dict[str, Any]:
            return {}

        return nothing


class RunningScheduler:
    """A service with a full cluster."""

    def __init__(self, n_nodes: int, n_pods: int) -> None:
        registry, self._cluster = default_registry(), InstantCluster()
        loaded, clock = config.default(registry), SystemClock()
        self.service = SchedulerService(
            loaded,
            registry,
            cast("KubeClient", self._cluster),
            cast("EventBroadcaster", self._cluster),
            clock=clock,
        )
        self._cluster.service = self.service
        self._ask = Inspections(self.service, loaded, registry, clock).handlers()["/explain/pod"]
        self._numbers = itertools.count(n_pods)
        for number in range(n_nodes):
            self.service.core.handle(ObjectChanged(None, Node.from_dict(node(number))))
        for number in range(n_pods):
            self.service.core.handle(ObjectChanged(None, Pod.from_dict(pod(number, number % n_nodes))))

    async def ask(self, name: str, suggestions: int = 0) -> bytes:
        query = {"name": [name], "suggestions": [str(suggestions)]}
        answer = await self._ask(EndpointRequest(query), Anybody())
        assert answer.status == 200, answer.body
        return bytes(cast("bytes", answer.body))

    async def seconds_per_pod(self, count: int, asked: Sequence[str]) -> float:
        """CPU seconds for each of *count* pods; those named in *asked* are asked about meanwhile."""
        core, bound = self.service.core, self._cluster.bound
        pods = [Pod.from_dict(pod(next(self._numbers))) for _ in range(count)]
        bound.clear()
        asking = asyncio.create_task(self._keep_asking(asked))
        start = time.process_time()
        for each in pods:
            core.handle(ObjectChanged(None, each))
        while len(bound) < count:
            await asyncio.sleep(0.01)
        seconds = time.process_time() - start
        asking.cancel()
        for each in bound:
            core.handle(ObjectChanged(each, None))
        return seconds / count

    async def _keep_asking(self, names: Sequence[str]) -> None:
        """Looks at the time as often without *names*, so that this costs both alike."""
        due = time.process_time()
        for name in itertools.cycle(names or [""]):
            while time.process_time() < due:
                await asyncio.sleep(0.01)
            due += 1 / QUESTIONS_PER_SECOND
            if name:
                await self.ask(name)


def node(number: int) -> dict[str, Any]:
    made: dict[str, Any] = apiserver._node(number)
    return {**made, "metadata": {**made["metadata"], "uid": f"node-{number}"}}


def pod(number: int, node_number: int | None = None, **requests: str) -> dict[str, Any]:
    made: dict[str, Any] = apiserver._pod(number)
    metadata = {**made["metadata"], "namespace": "default", "uid": f"pod-{number}"}
    spec = {"schedulerName": "default-scheduler", **made["spec"]}
    if node_number is not None:
        spec["nodeName"] = f"node-{node_number:05d}"
    if requests:
        spec["containers"] = [{**spec["containers"][0], "resources": {"requests": requests}}]
    return {**made, "metadata": metadata, "spec": spec}


# --- a running scheduler ------------------------------------------------------------------------------


async def measure_running(n_nodes: int, n_pods: int, rounds: int, pods_per_turn: int) -> dict[str, Any]:
    collector = GcTuner()
    collector.before_reading()
    scheduler = RunningScheduler(n_nodes, n_pods)
    collector.after_reading()
    core, stop = scheduler.service.core, asyncio.Event()
    running = asyncio.create_task(scheduler.service.schedule(stop))
    # One that fits nowhere, so that every node has a reason, and one that was placed.
    for each in (pod(-1, cpu="64"), pod(-2)):
        core.handle(ObjectChanged(None, Pod.from_dict(each)))
    waiting, placed = "pod--0001", "pod--0002"
    while (
        not core.pods[f"default/{placed}"].node_name
        or scheduler.service.records.latest(f"default/{waiting}") is None
    ):
        await asyncio.sleep(0.01)
    await scheduler.seconds_per_pod(pods_per_turn, ())  # warms up
    answers = [[await _seconds(scheduler, name) for _ in range(5)] for name in (waiting, placed)]
    first = await _seconds(scheduler, waiting, 5)
    again = await _seconds(scheduler, waiting, 5)
    ratios, alone = [], []
    for number in range(rounds):
        turns: dict[bool, float] = {}
        for is_asked in (number % 2 == 0, number % 2 == 1):
            turns[is_asked] = await scheduler.seconds_per_pod(pods_per_turn, (waiting, placed) if is_asked else ())
        ratios.append(turns[False] / turns[True])
        alone.append(turns[False])
    stop.set()
    await running
    return {
        "nodes": n_nodes,
        "pods": n_pods,
        "explain a waiting pod, s": round(statistics.median(answers[0]), 4),
        "explain a placed pod, s": round(statistics.median(answers[1]), 4),
        "with suggestions, the first time, s": round(first, 2),
        "with suggestions, s": round(again, 2),
        "pods per CPU second": round(1 / statistics.median(alone)),
        f"throughput with {QUESTIONS_PER_SECOND} questions a second": round(statistics.median(ratios), 4),
    }


async def _seconds(scheduler: RunningScheduler, name: str, suggestions: int = 0) -> float:
    """CPU seconds of one answer."""
    start = time.process_time()
    await scheduler.ask(name, suggestions)
    return time.process_time() - start


# --- a cluster without Bayplan ------------------------------------------------------------------------


def measure_cluster(n_nodes: int, n_pods: int) -> dict[str, Any]:
    with (
        tempfile.TemporaryDirectory(prefix="bayplan-bench-") as folder,
        apiserver._embedded(Path(folder)) as server,
    ):
        asyncio.run(_fill(server.kubeconfig, n_nodes, n_pods))
        timed = {name: _explain(server.kubeconfig, *more) for name, more in _VARIANTS.items()}
    return {"nodes": n_nodes, "pods": n_pods, **timed}


_VARIANTS = {
    "bayplan explain, s": ("--suggestions=0",),
    "bayplan explain with suggestions, s": (),
}


async def _fill(kubeconfig: Path, n_nodes: int, n_pods: int) -> None:
    transport = HttpTransport(load_access(str(kubeconfig)), SystemClock(), timeout_seconds=120)
    path = "/api/v1/namespaces/default/pods"
    await apiserver._timed(n_nodes, lambda i: transport.request_bytes("POST", "/api/v1/nodes", node(i)))
    await apiserver._timed(n_pods, lambda i: transport.request_bytes("POST", path, pod(i, i % n_nodes)))
    await transport.request_bytes("POST", path, {**pod(n_pods, cpu="64"), "metadata": {"name": "waiting"}})
    await transport.close()


def _explain(kubeconfig: Path, *more: str) -> float:
    program = str(Path(sys.executable).with_name("bayplan"))
    command = [program, "explain", "waiting", "-n", "default", f"--kubeconfig={kubeconfig}", "-o", "json", *more]
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    seconds = time.perf_counter() - start
    assert json.loads(done.stdout)["outcome"]["state"] == "Unschedulable"
    return round(seconds, 2)


@click.command()
@click.option("--nodes", default=5_000, show_default=True)
@click.option("--pods", default=50_000, show_default=True)
@click.option("--rounds", default=10, show_default=True, help="Pairs of turns, with and without questions.")
@click.option("--pods-per-turn", default=4_000, show_default=True)
@click.option("--cluster/--no-cluster", default=True, help="Also measure a cluster without Bayplan.")
def main(nodes: int, pods: int, rounds: int, pods_per_turn: int, cluster: bool) -> None:
    """Measure explanations."""
    for line in _lines(asyncio.run(measure_running(nodes, pods, rounds, pods_per_turn))):
        click.echo(line)
    if cluster:
        for line in _lines(measure_cluster(nodes, pods)):
            click.echo(line)


def _lines(measured: dict[str, Any]) -> Iterator[str]:
    yield f"{measured['nodes']:,} nodes, {measured['pods']:,} pods"
    for name, value in measured.items():
        if name not in ("nodes", "pods"):
            yield f"  {name:<48} {value}"


if __name__ == "__main__":
    main()
