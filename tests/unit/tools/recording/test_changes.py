"""The report tells each change once, in its group, and nothing of what is left to chance."""

from __future__ import annotations

from typing import Any

import pytest
from tools.recording.changes import Change, Comparison, changes_between, line_changes, report, surface_changes


def decision(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "decision", "steps": [{"pod": {}, **step} for step in steps]}


def scores(**totals: int) -> dict[str, dict[str, int]]:
    return {node: {"NodeResourcesFit": total, "total": total} for node, total in totals.items()}


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        pytest.param(
            {"unschedulable": "0/3 nodes are available: no new claims to deallocate, preemption: 0/3 nodes"},
            {"unschedulable": "0/3 nodes are available: preemption: 0/3 nodes"},
            Change("texts", "`unschedulable`: `no new claims to deallocate,` → nothing"),
            id="words that are gone",
        ),
        pytest.param(
            {"expanded": {"batch": {"filter": [{"name": "A"}, {"name": "B"}]}}},
            {"expanded": {"batch": {"filter": [{"name": "B"}, {"name": "A"}]}}},
            Change("order", "`expanded.*.filter`: B before A"),
            id="an order",
        ),
        pytest.param(
            {"expanded": {"batch": {"filter": [{"name": "A"}]}}},
            {"expanded": {"batch": {"filter": [{"name": "A"}, {"name": "B"}]}}},
            Change("plugins", "`expanded.*.filter`: B added"),
            id="a plugin",
        ),
        pytest.param(
            {"scores": {"n01": {"total": 1}}},
            {"scores": {"n01": {"total": 1, "VolumeBinding": 0}}},
            Change("scores", "VolumeBinding: absent → scored"),
            id="a plugin that scores",
        ),
        pytest.param(
            {"scores": {"n01": {"total": 1}, "n02": {"total": 2}}},
            {"scores": {"n01": {"total": 1}}},
            Change("scores", "a node: scored → absent"),
            id="a node that is not feasible any more",
        ),
        pytest.param({"node": "n01"}, {"node": "n02"}, Change("results", "`node`: another one"), id="a node"),
        pytest.param(
            {"pods": {"web": {"tried again": True}}},
            {"pods": {"web": {"tried again": False}}},
            Change("results", "`pods.*.tried again`: `true` → `false`"),
            id="a requeue, whatever the pod is called",
        ),
    ],
)
def test_change_is_told_in_its_group(before: Any, after: Any, change: Change) -> None:
    assert list(changes_between(before, after)) == [change]


def test_equal_nodes_are_left_to_chance() -> None:
    """And the steps after are not compared: they start from different clusters."""
    before = decision({"node": "a", "scores": scores(a=5, b=5)}, {"unschedulable": "x"})
    after = decision({"node": "b", "scores": scores(a=5, b=5)}, {"unschedulable": "y"})

    assert line_changes(before, after) == []


def test_another_best_node_is_a_change() -> None:
    before = decision({"node": "a", "scores": scores(a=5, b=4)})
    after = decision({"node": "b", "scores": scores(a=5, b=6)})

    assert Change("results", "`node`: `a` → `b`") in line_changes(before, after)
    assert Change("scores", "total: another score") in line_changes(before, after)


def test_report_counts_and_groups() -> None:
    """A change is counted once for each line that has it; what was left out is named."""
    compared = Comparison("requeue")
    change = Change("texts", "`message`: `a` → `b`")
    for found in ([change, change], [change], []):
        compared.add(found)
    compared.left_out.append("17")

    text = report("v1.38.0", "v1.37.1", [compared])

    assert "# What v1.38.0 changes since v1.37.1" in text
    assert "| requeue | 3 | 1 | 2 | 1 |" in text
    assert "### Texts\n\n- 2 × `message`: `a` → `b`\n" in text
    assert "Left out: 17." in text


def test_surface_is_compared_part_by_part() -> None:
    def surface(stability: str, **flags: Any) -> dict[str, Any]:
        metric = {
            "name": "scheduler_x_total",
            "type": "counter",
            "stability": stability,
            "labels": {"q": ["b", "a"]},
        }
        return {
            "version": stability,
            "metrics": [metric],
            "events": [],
            "flags": flags,
            "endpoints": {"/livez": {}},
        }

    compared = surface_changes(surface("ALPHA"), surface("BETA", v={"type": "Level"}))

    assert (compared.n_lines, compared.n_identical) == (3, 1)
    assert set(compared.changes) == {
        Change("metrics", "`metrics.scheduler_x_total.stability`: `ALPHA` → `BETA`"),
        Change("flags", '`flags.v`: absent → `{"type": "Level"}`'),
    }
