"""`bayplan demo`: what it shows is what happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bayplan.cli import main
from bayplan.cli.demo import SAMPLES

EXAMPLE = Path(__file__).parents[3] / "examples" / "01-label-filter"


@pytest.fixture(scope="module")
def output() -> str:
    result = CliRunner().invoke(main, ["demo"])
    assert result.exit_code == 0, result.output
    return result.output


def test_shows_the_default_plugins(output: str) -> None:
    """The expanded default configuration comes first."""
    assert "queueSort        PrioritySort" in output


def test_shows_why_each_node_will_not_do(output: str) -> None:
    """Node by node, who decided and why; then the message of the event."""
    assert "rack-1  CpuNodes          node(s) had no label cpu=true" in output
    assert "rack-2  TaintToleration   node(s) had untolerated taint(s)" in output
    assert "rack-3  NodeResourcesFit  Insufficient cpu" in output
    assert (
        "0/4 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), "
        "2 node(s) had no label cpu=true." in output
    )


def test_places_the_pods_by_score(output: str) -> None:
    """The highest total wins, and every pod placed counts for the next."""
    assert "total                               445     459" in output
    assert "web-1 → rack-4  (rack-1 445, rack-4 459)" in output
    assert "web-3 → rack-1" in output


@pytest.mark.parametrize("name", ["cpu_nodes.py", "scheduler.yaml"])
def test_the_sample_is_the_example(name: str) -> None:
    """What ships with the command is what examples/01-label-filter explains."""
    assert (SAMPLES / name).read_text() == (EXAMPLE / name).read_text()


def test_the_readme_shows_the_sample() -> None:
    """The first plugin that a reader sees is the one that the demo runs."""
    plugin = (SAMPLES / "cpu_nodes.py").read_text()

    assert plugin in (EXAMPLE.parents[1] / "README.md").read_text()
    assert plugin in (EXAMPLE / "README.md").read_text()
