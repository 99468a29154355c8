"""`bayplan demo`: what it shows is what happens."""

from __future__ import annotations

import re
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


def test_two_nodes_are_out_of_the_question(output: str) -> None:
    """The controllers have tainted the one that does not answer and the one that is cordoned."""
    rows = dict(re.findall(r"^(k8s|node\d) +(Ready|NotReady)(?=$|,)", output, re.MULTILINE))
    assert rows == {"k8s": "Ready", "node1": "Ready", "node2": "NotReady", "node3": "Ready"}


def test_the_pod_says_why_it_is_pending(output: str) -> None:
    """The message of the condition, which is that of the event."""
    assert (
        "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, "
        "2 node(s) had no label cpu=true." in output
    )


@pytest.mark.parametrize(
    "row",
    [
        r"k8s +ok +ok +✗ +node\(s\) had no label cpu=true",
        r"node1 +ok +ok +✗ +node\(s\) had no label cpu=true",
        r"node2 +ok +✗ +· +node\(s\) had untolerated taint\(s\)",
        r"node3 +✗ +· +· +node\(s\) were unschedulable",
    ],
)
def test_the_record_says_who_turned_each_node_down(output: str, row: str) -> None:
    assert re.search(f"^{row}$", output, re.MULTILINE)


def test_a_label_on_a_node_places_the_pod(output: str) -> None:
    """It runs on that node, and an event says so."""
    (name,) = re.findall(r"^(\S+) → node1, Running$", output, re.MULTILINE)
    assert f"Successfully assigned default/{name} to node1" in output


@pytest.mark.parametrize("name", ["cpu_nodes.py", "scheduler.yaml"])
def test_the_sample_is_the_example(name: str) -> None:
    """What ships with the command is what examples/01-label-filter explains."""
    assert (SAMPLES / name).read_text() == (EXAMPLE / name).read_text()


def test_the_readme_shows_the_sample() -> None:
    """The first plugin that a reader sees is the one that the demo runs."""
    plugin = (SAMPLES / "cpu_nodes.py").read_text()

    assert plugin in (EXAMPLE.parents[1] / "README.md").read_text()
    assert plugin in (EXAMPLE / "README.md").read_text()
