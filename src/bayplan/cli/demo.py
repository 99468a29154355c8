"""`bayplan demo`: runs a plugin of ten lines on a cluster in this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from bayplan.cli.inputs import load, registry
from bayplan.cli.tables import print_heading, print_table
from bayplan.cli.verdict_table import verdict_rows

if TYPE_CHECKING:
    from bayplan.apiserver.cluster import Cluster

SAMPLES: Final = Path(__file__).parent / "samples"
PLUGIN: Final = SAMPLES / "cpu_nodes.py"
CONFIGURATION: Final = SAMPLES / "scheduler.yaml"
MANIFEST: Final = SAMPLES / "deployment.yaml"
PODS: Final = "/api/v1/namespaces/default/pods"
#: Long enough for any machine; the demo takes a few seconds.
TIMEOUT_SECONDS: Final = 60.0

NODES: Final[tuple[tuple[str, dict[str, str], dict[str, Any]], ...]] = (
    ("k8s", {}, {}),
    ("node1", {}, {}),
    ("node2", {"bayplan.dev/simulate": "Unreachable"}, {}),
    ("node3", {}, {"unschedulable": True}),
)

NEXT: Final = """\
bayplan up                                          this cluster, for your own kubectl
bayplan config show --expanded                      what runs at which extension point
bayplan config check FILE --plugin my.py:MyPlugin   is it valid, and does my plugin load?
docs/guides/writing-a-plugin.md                     the contract, with a harness for your tests"""


@click.command(name="demo")
def command() -> None:
    """Run a plugin on a simulated cluster of four nodes.

    API server, nodes and scheduler run in this process; no connections are made and no files are left behind.
    """
    import asyncio

    asyncio.run(_run_demo())


async def _run_demo() -> None:
    from bayplan.apiserver.cluster import Cluster

    print_heading("1. A plugin is a Python class in a file")
    click.echo(PLUGIN.read_text())
    click.echo("A configuration, kube-scheduler's own format, enables it:\n")
    click.echo(CONFIGURATION.read_text())
    known = registry([f"{PLUGIN}:CpuNodes"])
    cluster = Cluster(
        [_node(*each) for each in NODES], configuration=load(str(CONFIGURATION), known), registry=known
    )
    async with cluster:
        await _show_nodes(cluster)
        name = await _stay_pending(cluster)
        await _become_placed(cluster, name)
        await _show_events(cluster, name)
    print_heading("\nWhat to try next")
    click.echo(NEXT)


def _node(name: str, annotations: dict[str, str], spec: dict[str, Any]) -> dict[str, Any]:
    from bayplan.apiserver.simulation.simulated_nodes import make_nodes

    node: dict[str, Any] = make_nodes(1)[0]
    node["metadata"] |= {"name": name, "annotations": annotations, "labels": {"kubernetes.io/hostname": name}}
    return node | {"spec": spec}


async def _show_nodes(cluster: Cluster) -> None:
    print_heading("2. A cluster: an API server, four simulated nodes, controllers and the scheduler")
    await _until(cluster, lambda: _has_taints(cluster))
    nodes = (await cluster.get("/api/v1/nodes"))["items"]
    rows = [(node["metadata"]["name"], ", ".join(_states(node))) for node in nodes]
    print_table(("node", "state"), rows)


async def _has_taints(cluster: Cluster) -> bool:
    """Whether the controllers have tainted the two faulty nodes."""
    nodes = (await cluster.get("/api/v1/nodes"))["items"]
    return sum(bool(node["spec"].get("taints")) for node in nodes) == 2


def _states(node: dict[str, Any]) -> list[str]:
    conditions = {each["type"]: each["status"] for each in node["status"]["conditions"]}
    taints = [f"{taint['key']}:{taint['effect']}" for taint in node["spec"].get("taints") or []]
    return ["Ready" if conditions["Ready"] == "True" else "NotReady", *taints]


async def _stay_pending(cluster: Cluster) -> str:
    """No node fits; prints the record, which says why for each node. Returns the name of the pod."""
    print_heading("\n3. A Deployment with one replica: its pod stays Pending")
    await cluster.apply(MANIFEST.read_text())

    async def is_refused() -> bool:
        pods = (await cluster.get(PODS))["items"]
        return bool(pods) and any(
            each["type"] == "PodScheduled" for each in pods[0]["status"].get("conditions", ())
        )

    await _until(cluster, is_refused)
    pod = (await cluster.get(PODS))["items"][0]
    name: str = pod["metadata"]["name"]
    condition = next(each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled")
    click.echo(f"{name}: {condition['reason']}\n{condition['message']}\n")
    click.echo("The record of the decision, by node and plugin (· means not called):")
    record = cluster.scheduler.records.latest(f"default/{name}") if cluster.scheduler is not None else None
    if record is not None:
        headings, rows = verdict_rows(record)
        print_table(headings, rows)
    return name


async def _become_placed(cluster: Cluster, name: str) -> None:
    print_heading(
        "\n4. kubectl label node node1 cpu=true: the plugin's verdict may change, so the pod is tried again"
    )
    await cluster.client.request("PATCH", "/api/v1/nodes/node1", {"metadata": {"labels": {"cpu": "true"}}})

    async def is_running() -> bool:
        return bool((await cluster.get(f"{PODS}/{name}"))["status"].get("phase") == "Running")

    await _until(cluster, is_running)
    pod = await cluster.get(f"{PODS}/{name}")
    click.echo(f"{name} → {pod['spec']['nodeName']}, {pod['status']['phase']}")


async def _show_events(cluster: Cluster, name: str) -> None:
    print_heading(f"\n5. kubectl get events, those of {name}")

    async def has_event() -> bool:
        return any(event["reason"] == "Scheduled" for event in await _events(cluster, name))

    await _until(cluster, has_event)
    rows = [(event["type"], event["reason"], _message(event)) for event in await _events(cluster, name)]
    print_table(("type", "reason", "message"), rows)


async def _events(cluster: Cluster, name: str) -> list[dict[str, Any]]:
    events = (await cluster.get("/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
    of_pod = (event for event in events if event["regarding"]["name"] == name)
    return sorted(of_pod, key=lambda event: int(event["metadata"]["resourceVersion"]))


def _message(event: dict[str, Any]) -> str:
    return str(event["note"])


async def _until(cluster: Cluster, condition: Callable[[], Awaitable[bool]]) -> None:
    import asyncio

    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not await condition():
            await cluster.clock.sleep(0.02)
