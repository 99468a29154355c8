"""`python -m bench.apiserver`: creates and binds per second and memory, compared with kube-apiserver and etcd.

The same client calls both over HTTPS, one after the other, on the same machine; every second round in the opposite
order, so that other load on the machine favours neither. etcd runs without fsync, in memory if possible.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import uvloop

from bayplan.client import HttpTransport, load_access
from bayplan.clock import SystemClock

#: Concurrent requests, as many as a busy scheduler has.
IN_FLIGHT = 32
NAMESPACE = "default"
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


class Result(NamedTuple):
    """One line of the table."""

    server: str
    nodes: int
    pods: int
    creates_per_second: float
    binds_per_second: float
    list_seconds: float
    memory_mb: float

    @staticmethod
    def heading() -> str:
        return (
            f"{'server':<28}{'nodes':>7}{'pods':>8}{'creates/s':>11}{'binds/s':>10}{'list s':>8}{'memory MB':>11}"
        )

    def row(self) -> str:
        return (
            f"{self.server:<28}{self.nodes:>7}{self.pods:>8}{self.creates_per_second:>11,.0f}"
            f"{self.binds_per_second:>10,.0f}{self.list_seconds:>8.2f}{self.memory_mb:>11,.0f}"
        )


class Running(NamedTuple):
    """A server under test: its kubeconfig, and the processes whose memory counts."""

    name: str
    kubeconfig: Path
    pids: tuple[int, ...]

    def memory_mb(self) -> float:
        return sum(_resident_kb(pid) for pid in self.pids) / 1024


@click.command()
@click.option("--nodes", default=1_000, show_default=True)
@click.option("--pods", default=10_000, show_default=True)
@click.option("--large/--no-large", default=True, help="Also measure ours with 5,000 nodes and 50,000 pods.")
@click.option("--real/--no-real", default=True, help="Also measure kube-apiserver with etcd.")
@click.option("--data/--no-data", default=True, help="Also measure ours on disk.")
@click.option("--rounds", default=1, show_default=True, help="How many times to measure all servers.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.option("--serve", hidden=True, type=click.Path(path_type=Path), help="Run the server, in this folder.")
@click.option("--on-disk", hidden=True, is_flag=True)
def main(
    nodes: int,
    pods: int,
    large: bool,
    real: bool,
    data: bool,
    rounds: int,
    as_json: bool,
    serve: Path | None,
    on_disk: bool,
) -> None:
    """Measure API servers. Needs the control plane of `make e2e` for the real one."""
    if serve is not None:
        uvloop.run(_serve(serve, on_disk=on_disk))
        return
    if not as_json:
        click.echo(Result.heading())
    starts = list(_starts(real=real, data=data))
    runs = [(start, nodes, pods) for i in range(rounds) for start in starts[:: -1 if i % 2 else 1]]
    if large:
        runs.append((_embedded, 5_000, 50_000))
    for start, n_nodes, n_pods in runs:
        with tempfile.TemporaryDirectory(prefix="bayplan-bench-") as folder, start(Path(folder)) as running:
            result = uvloop.run(_measure(running, n_nodes, n_pods))
        click.echo(json.dumps(result._asdict()) if as_json else result.row())


Start = Callable[[Path], contextlib.AbstractContextManager[Running]]


def _starts(*, real: bool, data: bool) -> Iterator[Start]:
    yield _embedded
    if data:
        yield _embedded_on_disk
    if real and _has_control_plane():
        yield _real


def _has_control_plane() -> bool:
    from tests.e2e.binaries import MissingProgramError, require

    try:
        require()
    except MissingProgramError as error:
        click.echo(f"kube-apiserver and etcd are not measured: {error}", err=True)
        return False
    return True


# --- the servers ------------------------------------------------------------------------------------


async def _serve(folder: Path, *, on_disk: bool) -> None:
    from bayplan.apiserver.api_server import ApiServer
    from bayplan.apiserver.transport.http_server import HttpServer

    server = HttpServer(ApiServer(SystemClock(), folder / "data" if on_disk else None))
    await server.start()
    (folder / "kubeconfig").write_text(server.kubeconfig())
    print("ready", flush=True)
    await asyncio.Event().wait()


@contextlib.contextmanager
def _embedded(folder: Path, *, on_disk: bool = False) -> Iterator[Running]:
    command = [
        sys.executable,
        "-m",
        "bench.apiserver",
        "--serve",
        str(folder),
        *(["--on-disk"] if on_disk else []),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            if process.stdout.readline().strip() != b"ready":
                raise click.ClickException("the embedded API server did not start")
            name = "bayplan, --data" if on_disk else "bayplan"
            yield Running(name, folder / "kubeconfig", (process.pid,))
        finally:
            process.kill()


def _embedded_on_disk(folder: Path) -> contextlib.AbstractContextManager[Running]:
    return _embedded(folder, on_disk=True)


@contextlib.contextmanager
def _real(folder: Path) -> Iterator[Running]:
    from tests.e2e.control_plane import ControlPlane

    with ControlPlane(folder) as plane:
        yield Running("kube-apiserver and etcd", plane.kubeconfig, (plane.api_server.pid, plane.etcd.pid))


# --- the load ---------------------------------------------------------------------------------------


async def _measure(running: Running, n_nodes: int, n_pods: int) -> Result:
    transport = HttpTransport(load_access(str(running.kubeconfig)), SystemClock(), timeout_seconds=120)
    await _timed(n_nodes, lambda i: transport.request_bytes("POST", "/api/v1/nodes", _node(i)))
    creating = await _timed(n_pods, lambda i: transport.request_bytes("POST", _PODS, _pod(i)))
    binding = await _timed(
        n_pods, lambda i: transport.request_bytes("POST", f"{_PODS}/pod-{i:05d}/binding", _binding(i, n_nodes))
    )
    start = time.perf_counter()
    await transport.request_bytes("GET", "/api/v1/pods", query={"resourceVersion": "0"})
    listing = time.perf_counter() - start
    memory_mb = running.memory_mb()
    await transport.close()
    return Result(running.name, n_nodes, n_pods, n_pods / creating, n_pods / binding, listing, memory_mb)


async def _timed(count: int, send: Callable[[int], Awaitable[bytes]]) -> float:
    """Seconds for all requests, IN_FLIGHT at a time."""
    numbers = iter(range(count))

    async def work() -> None:
        for i in numbers:
            await send(i)

    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    return time.perf_counter() - start


def _node(i: int) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": f"node-{i:05d}", "topology.kubernetes.io/zone": f"zone-{i % 3}"}
    room = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
    status = {"allocatable": room, "capacity": room, "conditions": conditions}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{i:05d}", "labels": labels},
        "status": status,
    }


def _pod(i: int) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "registry.k8s.io/pause:3.10",
        "ports": [{"containerPort": 80}],
        "resources": {
            "requests": {"cpu": "100m", "memory": "500Mi"},
            "limits": {"cpu": "100m", "memory": "500Mi"},
        },
    }
    metadata = {"name": f"pod-{i:05d}", "labels": {"app": f"app-{i % 100}"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def _binding(i: int, n_nodes: int) -> dict[str, Any]:
    target = {"apiVersion": "v1", "kind": "Node", "name": f"node-{i % n_nodes:05d}"}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": f"pod-{i:05d}"}, "target": target}


def _resident_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


if __name__ == "__main__":
    main()
