"""The output of `bayplan up`: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bayplan.apiserver.cluster import Cluster
    from bayplan.model import Node
    from bayplan.observe.record import Record, Ring

REFRESH_SECONDS: Final = 0.5
NODE_ROWS: Final = 15
DECISION_ROWS: Final = 8


async def show(cluster: Cluster, stop: asyncio.Event, *, plain: bool) -> None:
    """Show decisions until *stop* is set."""
    if plain:
        await _print_lines(cluster, stop)
    else:
        await _draw(cluster, stop)


async def _print_lines(cluster: Cluster, stop: asyncio.Event) -> None:
    """Print a line for each decision."""
    seen, is_over = 0, False
    while not is_over:
        is_over = await _is_set_within(stop, REFRESH_SECONDS)
        if cluster.scheduler is not None:
            records = cluster.scheduler.records
            for record in records.since(seen):
                click.echo(decision_line(record))
            seen = records.n_added


async def _draw(cluster: Cluster, stop: asyncio.Event) -> None:
    from rich.live import Live

    with Live(render(cluster), auto_refresh=False, transient=True) as live:
        while not await _is_set_within(stop, REFRESH_SECONDS):
            live.update(render(cluster), refresh=True)


async def _is_set_within(stop: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return False
    return True


def decision_line(record: Record) -> str:
    """The node of a pod, or why it has none."""
    if record.node_name and record.message:
        return f"{record.pod_key} was not bound to {record.node_name}: {record.message}"
    if record.node_name:
        return f"{record.pod_key} → {record.node_name}"
    return f"{record.pod_key} is pending: {record.message}"


def render(cluster: Cluster) -> RenderableType:
    from rich.columns import Columns
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(_summary(cluster)), Columns([_nodes(cluster)])]
    if cluster.scheduler is not None:
        parts.append(_decisions(cluster.scheduler.records))
    return Group(*parts)


def _summary(cluster: Cluster) -> str:
    phases = Counter(pod.status.phase or "Pending" for pod in cluster.kubelets.known_pods())
    pods = ", ".join(f"{count} {phase}" for phase, count in sorted(phases.items())) or "none"
    text = f"Pods: {pods}"
    if cluster.scheduler is not None:
        counts = cluster.scheduler.queue.counts()._asdict()
        text += "    Queue: " + ", ".join(f"{count} {name}" for name, count in counts.items())
    return text


def _nodes(cluster: Cluster) -> RenderableType:
    from rich.table import Table

    placed = Counter(pod.spec.node_name for pod in cluster.kubelets.known_pods() if not pod.has_ended)
    table = Table("node", "state", "zone", "pods", box=None, pad_edge=False)
    nodes = sorted(cluster.kubelets.known_nodes(), key=lambda node: (-placed[node.name], node.name))
    for node in nodes[:NODE_ROWS]:
        zone = node.labels.get("topology.kubernetes.io/zone", "")
        table.add_row(node.name, ", ".join(_states(node)), zone, str(placed[node.name]))
    if len(nodes) > NODE_ROWS:
        table.add_row(f"… and {len(nodes) - NODE_ROWS} more", "", "", "")
    return table


def _states(node: Node) -> Iterator[str]:
    from bayplan.model.kube_object import condition_of

    ready = condition_of(node.status.conditions, "Ready")
    yield "Ready" if ready is not None and ready.status == "True" else "NotReady"
    if node.spec.unschedulable:
        yield "SchedulingDisabled"


def _decisions(records: Ring) -> RenderableType:
    from rich.text import Text

    last = records.since(records.n_added - DECISION_ROWS)
    return Text("\n".join(["", "Last decisions", *(decision_line(record) for record in last)]))
