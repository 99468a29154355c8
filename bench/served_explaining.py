"""`python -m bench.served_explaining`: what answers cost over HTTPS, with a real kube-apiserver.

1. A cluster without Bayplan: seconds for `bayplan explain`, which reads everything.
2. `bayplan run`: seconds for its endpoint's answers, for the command that asks it, and how much scheduling slows
   down while ten answers are asked for in each second.

The machine may be shared, so CPU time is given beside wall time. Scheduling is measured by the CPU time of the
process, endpoints included; turns with and without questions alternate.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bayplan.client import ClusterAccess, HttpTransport, Pem, Trust, load_access
from bayplan.clock import SystemClock
from bench import apiserver
from bench.explaining import QUESTIONS_PER_SECOND, node, pod

if TYPE_CHECKING:
    from tests.e2e.control_plane import ControlPlane

PODS = "/api/v1/namespaces/default/pods"
WAITING = "waiting"
#: Endpoints are asked this often for a median: the kernel counts CPU time in hundredths of a second.
N_ANSWERS = 200


class Seconds(NamedTuple):
    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.3f} (CPU {self.cpu:.4f})"


def cpu_seconds(*pids: int) -> float:
    """Of processes so far, in all threads; the kernel counts hundredths."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class ServedScheduler:
    """A `bayplan run`, asked through its endpoint as an administrator."""

    def __init__(self, plane: ControlPlane, pid: int, port: int) -> None:
        self._pid = pid
        self.server = f"https://127.0.0.1:{port}"
        self.authority = plane.authority.pair.certificate
        self._cluster = HttpTransport(load_access(str(plane.kubeconfig)), SystemClock(), timeout_seconds=120)
        trust = Trust(ca=Pem(file=str(self.authority)))
        access = ClusterAccess(self.server, trust, load_access(str(plane.kubeconfig)).auth_info)
        self._endpoint = HttpTransport(access, SystemClock(), timeout_seconds=120)
        self._numbers = itertools.count(1_000_000)

    async def close(self) -> None:
        await self._cluster.close()
        await self._endpoint.close()

    def cpu_seconds(self) -> float:
        return cpu_seconds(self._pid)

    async def answer(self, name: str, suggestions: int = 0) -> dict[str, Any]:
        query = {"name": name, "suggestions": str(suggestions)}
        found: dict[str, Any] = json.loads(await self._endpoint.request_bytes("GET", "/explain/pod", query=query))
        return found

    async def timed_answer(self, name: str, suggestions: int = 0) -> Seconds:
        start, cpu = time.perf_counter(), self.cpu_seconds()
        await self.answer(name, suggestions)
        return Seconds(time.perf_counter() - start, self.cpu_seconds() - cpu)

    async def wait_for_attempt(self, name: str) -> None:
        while True:
            found = await self.answer(name)
            if found["outcome"]["state"] in ("Unschedulable", "Bound"):
                return
            await asyncio.sleep(0.2)

    async def seconds_per_pod(self, count: int, asked: Sequence[str]) -> float:
        """CPU seconds of the process for each of *count* pods; it is asked about those of *asked* meanwhile."""
        names = [f"pod-{next(self._numbers)}" for _ in range(count)]
        asking = asyncio.create_task(self._keep_asking(asked))
        start = self.cpu_seconds()
        await apiserver._timed(count, lambda i: self._cluster.request_bytes("POST", PODS, _plain_pod(names[i])))
        while await self._n_pending():
            await asyncio.sleep(0.5)
        seconds = self.cpu_seconds() - start
        asking.cancel()
        gone = {"gracePeriodSeconds": "0"}
        await apiserver._timed(
            count, lambda i: self._cluster.request_bytes("DELETE", f"{PODS}/{names[i]}", query=gone)
        )
        return seconds / count

    async def _n_pending(self) -> int:
        """How many pods wait, besides the one that fits nowhere."""
        found = json.loads(
            await self._cluster.request_bytes("GET", PODS, query={"fieldSelector": "spec.nodeName=", "limit": "2"})
        )
        return sum(each["metadata"]["name"] != WAITING for each in found["items"])

    async def _keep_asking(self, names: Sequence[str]) -> None:
        """Ten questions in each CPU second of the process: on a shared machine it has fewer of them."""
        due = self.cpu_seconds()
        for name in itertools.cycle(names or [""]):
            while self.cpu_seconds() < due:
                await asyncio.sleep(0.02)
            due += 1 / QUESTIONS_PER_SECOND
            if name:
                await self.answer(name)


def _plain_pod(name: str) -> dict[str, Any]:
    made = pod(0)
    return {**made, "metadata": {"name": name, "labels": made["metadata"]["labels"]}}


async def fill(kubeconfig: Path, n_nodes: int, n_pods: int) -> None:
    transport = HttpTransport(load_access(str(kubeconfig)), SystemClock(), timeout_seconds=120)
    await apiserver._timed(n_nodes, lambda i: transport.request_bytes("POST", "/api/v1/nodes", node(i)))
    await apiserver._timed(n_pods, lambda i: transport.request_bytes("POST", PODS, pod(i, i % n_nodes)))
    await transport.request_bytes("POST", PODS, {**pod(n_pods, cpu="64"), "metadata": {"name": WAITING}})
    await transport.close()


def timed_command(*arguments: str) -> Seconds:
    """`bayplan explain waiting` in a process of its own, start included."""
    program = str(Path(sys.executable).with_name("bayplan"))
    command = [program, "explain", WAITING, "-n", "default", "-o", "json", *arguments]
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert json.loads(done.stdout)["outcome"]["state"] == "Unschedulable"
    return Seconds(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure_reading(plane: ControlPlane) -> Iterator[tuple[str, object]]:
    given, server = f"--kubeconfig={plane.kubeconfig}", (plane.api_server.pid, plane.etcd.pid)
    for name, more in (("explain", ("--suggestions=0",)), ("with suggestions", ())):
        before = cpu_seconds(*server)
        seconds = timed_command(given, *more)
        yield f"a cluster without Bayplan: {name}, s", seconds
        yield "  CPU of the API server and etcd meanwhile, s", round(cpu_seconds(*server) - before, 2)


async def measure_served(served: ServedScheduler, kubeconfig: Path, rounds: int, pods_per_turn: int) -> None:
    await served.wait_for_attempt(WAITING)
    cpu = served.cpu_seconds()
    plain = [await served.timed_answer(WAITING) for _ in range(N_ANSWERS)]
    cpu = (served.cpu_seconds() - cpu) / N_ANSWERS
    _show("endpoint: explain, s", Seconds(_median(plain).wall, cpu))
    _show("endpoint: with suggestions, the first time, s", await served.timed_answer(WAITING, 5))
    _show("endpoint: with suggestions, s", _median([await served.timed_answer(WAITING, 5) for _ in range(5)]))
    given = (
        f"--kubeconfig={kubeconfig}",
        f"--server={served.server}",
        f"--certificate-authority={served.authority}",
    )
    _show("bayplan explain --server, s", _median([timed_command(*given, "--suggestions=0") for _ in range(5)]))
    _show("bayplan explain --server with suggestions, s", _median([timed_command(*given) for _ in range(3)]))
    await served.seconds_per_pod(pods_per_turn, ())  # warms up
    ratios, alone = [], []
    for number in range(rounds):
        turns: dict[bool, float] = {}
        for is_asked in (number % 2 == 0, number % 2 == 1):
            turns[is_asked] = await served.seconds_per_pod(
                pods_per_turn, (WAITING, "pod-00000") if is_asked else ()
            )
        ratios.append(turns[False] / turns[True])
        alone.append(turns[False])
    _show("pods per CPU second of the process", round(1 / statistics.median(alone)))
    _show(f"throughput with {QUESTIONS_PER_SECOND} questions a second", round(statistics.median(ratios), 4))
    await served.close()


def _median(measured: Sequence[Seconds]) -> Seconds:
    return Seconds(*(statistics.median(column) for column in zip(*measured, strict=True)))


def _show(name: str, value: object) -> None:
    click.echo(f"  {name:<52} {value}")


@click.command()
@click.option("--nodes", default=5_000, show_default=True)
@click.option("--pods", default=50_000, show_default=True)
@click.option("--rounds", default=6, show_default=True, help="Pairs of turns, with and without questions.")
@click.option("--pods-per-turn", default=2_000, show_default=True)
def main(nodes: int, pods: int, rounds: int, pods_per_turn: int) -> None:
    """Measure answers over HTTPS. Needs the control plane of `make e2e`."""
    from tests.e2e.bayplan import start_bayplan
    from tests.e2e.control_plane import ControlPlane

    with tempfile.TemporaryDirectory(prefix="bayplan-bench-") as folder, ControlPlane(Path(folder)) as plane:
        asyncio.run(fill(plane.kubeconfig, nodes, pods))
        click.echo(f"{nodes:,} nodes, {pods:,} pods, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}")
        for name, value in measure_reading(plane):
            _show(name, value)
        process = start_bayplan(plane, verbosity=0)
        assert process.port is not None
        served = ServedScheduler(plane, process.pid, process.port)
        asyncio.run(measure_served(served, plane.kubeconfig, rounds, pods_per_turn))


if __name__ == "__main__":
    main()
