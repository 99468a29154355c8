"""What `bayplan up` shows: a line for each decision, or a live view of nodes and pods."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from rich.console import Console

from bayplan.cli.live_view import NODE_ROWS, decision_line, render, show
from bayplan.observe.record import Record
from bayplan.testing import VirtualCluster, make_node, make_pod


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    with VirtualCluster([make_node("a"), make_node("b", unschedulable=True)]) as started:
        started.schedule(make_pod("small", cpu="1"))
        started.schedule(make_pod("large", cpu="100"))
        started.wait(5)
        yield started


def drawn(cluster: VirtualCluster) -> str:
    console = Console(width=160)
    with console.capture() as captured:
        console.print(render(cluster.cluster))
    return captured.get()


@pytest.mark.parametrize(
    ("node_name", "message", "line"),
    [
        pytest.param("a", "", "ns/p → a", id="placed"),
        pytest.param("", "0/2 nodes", "ns/p is pending: 0/2 nodes", id="pending"),
        pytest.param("a", "no disk", "ns/p was not bound to a: no disk", id="chosen and not bound"),
    ],
)
def test_a_line_says_where_or_why_not(node_name: str, message: str, line: str) -> None:
    record = Record("ns/p", "uid", "default-scheduler")
    record.node_name, record.message = node_name, message
    assert decision_line(record) == line


def test_the_live_view_has_pods_queue_and_nodes(cluster: VirtualCluster) -> None:
    """The fullest node first, states as kubectl writes them."""
    lines = drawn(cluster).splitlines()
    assert lines[0].startswith("Pods: 1 Pending, 1 Running")
    assert "1 unschedulable" in lines[0]
    assert lines[2].split() == ["a", "Ready", "1"]
    assert lines[3].split()[:2] == ["b", "Ready,"]
    assert "SchedulingDisabled" in lines[3]
    assert any(line.startswith("default/small → a") for line in lines)


def test_a_large_cluster_is_cut_off() -> None:
    with VirtualCluster(NODE_ROWS + 4, scheduler=False) as started:
        assert "… and 4 more" in drawn(started)


def test_plain_output_is_a_line_for_each_decision(
    cluster: VirtualCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    async def a_second() -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(1, stop.set)
        await show(cluster.cluster, stop, plain=True)

    cluster.run(a_second())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "default/small → a"
    assert lines[1].startswith("default/large is pending: 0/2 nodes are available: ")
