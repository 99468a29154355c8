"""`python -m bench.extender`: requests per second of the extender server, compared with a bare aiohttp handler.

A scheduler calls `filter` and then `prioritize` for 1,000 nodes by name (`nodeCacheCapable`), over one keep-alive
connection. Servers run in separate processes, one after the other. Their CPU time is measured, because the machine
may be shared. The bare handler reads the request and sends a precomputed response of the same size: the cost of
HTTP alone.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import click
from aiohttp import web

from bayplan import Plugin, Status, config
from bayplan.config.types import Extender
from bayplan.extender.endpoint import Endpoint
from bayplan.extender.hosting import PluginHost
from bayplan.extender.server import ExtenderServer
from bayplan.process.extending import restricted
from bayplan.scheduler import default_registry, new_core
from bayplan.testing import make_node, make_pod

SERVERS: Final = ("bare aiohttp", "columns", "one by one")


class Columns(Plugin):
    """Accepts even nodes and prefers higher numbers; all nodes at once."""

    name = "Columns"

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return nodes.reject(nodes.label("odd") == "yes", "odd")

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return nodes.label("points").numbers(0)


class OneByOne(Plugin):
    """The same, one node at a time."""

    name = "OneByOne"

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return Status.unschedulable("odd") if node.labels["odd"] == "yes" else None

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return int(node.labels["points"])


@click.command()
@click.option("--nodes", "n_nodes", default=1000, show_default=True, help="Nodes per request.")
@click.option("--seconds", default=2.0, show_default=True, help="How long to measure each server.")
@click.option("--serve", hidden=True, type=click.Choice(SERVERS), help="Run one of the servers.")
def main(n_nodes: int, seconds: float, serve: str | None) -> None:
    """Measure filter + prioritize requests with nodes by name."""
    if serve is not None:
        asyncio.run(_serve(serve, n_nodes))
        return
    click.echo(f"{'extender server':<16}{'nodes':>7}{'pairs/CPU s':>13}{'CPU ms/pair':>13}{'pairs/s':>10}")
    for name in SERVERS:
        rate, wall_rate = asyncio.run(_measure(name, n_nodes, seconds))
        click.echo(f"{name:<16}{n_nodes:>7}{rate:>13.0f}{1000 / rate:>13.2f}{wall_rate:>10.0f}")


# --- the client -------------------------------------------------------------------------------------------


async def _measure(name: str, n_nodes: int, seconds: float) -> tuple[float, float]:
    """Pairs of requests per second of the server's CPU time, and per second."""
    body = json.dumps(_request(n_nodes)).encode()
    async with _started(name, n_nodes) as endpoint:
        for _ in range(5):
            await _send_pair(endpoint, body)
        cpu, start, n_pairs = await _cpu_seconds(endpoint), time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            await _send_pair(endpoint, body)
            n_pairs += 1
        used = await _cpu_seconds(endpoint) - cpu
        return n_pairs / used, n_pairs / (time.perf_counter() - start)


async def _send_pair(endpoint: Endpoint, body: bytes) -> None:
    await endpoint.post("filter", body, again=False)
    await endpoint.post("prioritize", body, again=False)


async def _cpu_seconds(endpoint: Endpoint) -> float:
    return float(await endpoint.post("cpu", b"{}", again=False))


@asynccontextmanager
async def _started(name: str, n_nodes: int) -> AsyncIterator[Endpoint]:
    command = [sys.executable, "-m", "bench.extender", "--serve", name, "--nodes", str(n_nodes)]
    server = subprocess.Popen(  # noqa: S603  our own interpreter on our own module
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent
    )
    try:
        port = int(server.stdout.readline()) if server.stdout is not None else 0
        endpoint = Endpoint(Extender(url_prefix=f"http://127.0.0.1:{port}"))
        yield endpoint
        await endpoint.close()
    finally:
        server.terminate()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


def _request(n_nodes: int) -> Any:
    pod = dict(make_pod("p", cpu="1").raw)
    return {"Pod": pod, "Nodes": None, "NodeNames": [f"node-{i}" for i in range(n_nodes)]}


# --- the servers ------------------------------------------------------------------------------------------


async def _serve(name: str, n_nodes: int) -> None:
    extender = _extender(Columns if name != "one by one" else OneByOne, n_nodes)
    respond = extender.handle if name != "bare aiohttp" else await _bare(extender, n_nodes)

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/cpu":
            return web.Response(text=str(time.process_time()))
        return await respond(request)

    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def _extender(plugin: type[Plugin], n_nodes: int) -> ExtenderServer:
    registry = default_registry()
    registry.add(plugin)
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: {plugin.name}}}]}}}}}}]\n"
    )
    loaded = restricted(config.load(text, source="bench", catalogue=registry), [plugin.name])
    scheduler = new_core(loaded, registry, schedules_pods=False)
    for i in range(n_nodes):
        labels = {"odd": "yes" if i % 2 else "no", "points": str(i % 101)}
        scheduler.cache.set_node(make_node(f"node-{i}", labels=labels))
    (profile,) = scheduler.profiles.values()
    return ExtenderServer(PluginHost(profile, scheduler.cache).app())


async def _bare(extender: ExtenderServer, n_nodes: int) -> Any:
    """A handler with precomputed responses, of the same size as those of the extender."""
    body = json.dumps(_request(n_nodes)).encode()
    precomputed = {f"/{verb}": (await extender.app.answer(verb, body)).body for verb in ("filter", "prioritize")}

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        await request.content.read()
        return web.Response(body=precomputed[request.path], content_type="application/json")

    return handle


if __name__ == "__main__":
    main()
