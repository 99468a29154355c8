"""Scores at --v=10, in kube-scheduler's lines."""

from __future__ import annotations

import pytest

from bayplan.observe import klog
from bayplan.testing import Harness, make_node, make_pod

PLUGIN, TOTAL = '"Plugin scored node for pod"', '"Calculated node\'s final score for pod"'


def lines_at(verbosity: int, caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the decision about one pod logs about scores."""
    caplog.set_level(klog.level_of(verbosity), "bayplan.core")
    harness = Harness()
    harness.add(make_node("a", cpu="4"), make_node("b", cpu="8"))
    harness.schedule(make_pod("p", cpu="1"))
    formatter = klog.TextFormatter()
    lines = [formatter.format(record).partition("] ")[2] for record in caplog.records]
    return [line for line in lines if line.startswith((PLUGIN, TOTAL))]


def test_every_score_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Per node and plugin, with the weight; the totals are their sums."""
    lines = lines_at(10, caplog)

    sums = {"a": 0, "b": 0}
    for line in lines:
        if line.startswith(PLUGIN):
            sums[line.partition('node="')[2][0]] += int(line.rpartition("score=")[2])
    assert [line for line in lines if line.startswith(TOTAL)] == [
        f'{TOTAL} pod="default/p" node="{node}" score={total}' for node, total in sums.items()
    ]
    # LeastAllocated: 75 % of the cpu and 99 % of the memory are free, and 87 % of the larger node's cpu.
    assert f'{PLUGIN} pod="default/p" plugin="NodeResourcesFit" node="a" score=87' in lines
    assert f'{PLUGIN} pod="default/p" plugin="NodeResourcesFit" node="b" score=93' in lines
    assert lines[-2:] == [line for line in lines if line.startswith(TOTAL)]


def test_nothing_is_logged_below(caplog: pytest.LogCaptureFixture) -> None:
    assert lines_at(9, caplog) == []
