"""What became of a pod is read from its versions."""

from __future__ import annotations

from typing import Any

import pytest
from tools.recording.claims import outcome, reordered


def version(message: str = "", *, node: str = "", nominated: str = "") -> dict[str, Any]:
    refusal = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    status: dict[str, Any] = {"conditions": [refusal]} if message else {}
    if nominated:
        status["nominatedNodeName"] = nominated
    return {"spec": {"nodeName": node} if node else {}, "status": status}


@pytest.mark.parametrize(
    ("versions", "told"),
    [
        pytest.param([version()], {"held": True}, id="never tried"),
        pytest.param(
            [version("no room"), version("no devices")],
            {"unschedulable": "no devices", "reason": "Unschedulable", "messages_before": ["no room"]},
            id="refused twice",
        ),
        pytest.param(
            [version("no room", nominated="n1"), version("no room", nominated="n1", node="n1")],
            {
                "node": "n1",
                "preemption": {"nominated": "n1", "message": "no room"},
                "messages_before": ["no room"],
            },
            id="after a preemption",
        ),
        pytest.param(
            [version(nominated="n1"), version(nominated="n1", node="n1")],
            {"node": "n1"},
            id="nominated while it was bound",
        ),
        pytest.param(
            [version("no room", nominated="n1")],
            {
                "timeout": True,
                "preemption": {"nominated": "n1", "message": "no room"},
                "messages_before": ["no room"],
            },
            id="still waiting for its victims",
        ),
    ],
)
def test_outcome_of_a_pod(versions: list[dict[str, Any]], told: dict[str, Any]) -> None:
    assert outcome(versions, [{}]) == told


def test_errors_on_the_way_are_left_to_chance() -> None:
    """Which node's error is told differs from attempt to attempt."""
    errors = [version(f"no such key on {node}") for node in ("n1", "n2")]
    for each in errors:
        each["status"]["conditions"][0]["reason"] = "SchedulerError"

    assert outcome(errors, []) == {"unschedulable": "no such key on n2", "reason": "SchedulerError"}


def test_scores_are_those_of_the_last_attempt() -> None:
    first, last = {"a": {"total": 1}}, {"b": {"total": 2}}

    assert outcome([version(node="b")], [first, last]) == {"node": "b", "scores": last}


def test_another_order_is_a_scenario_of_its_own() -> None:
    """The same pods, without their outcome; a seed gives the same order every time."""
    steps = [{"pod": {"n": n}, "node": "a"} for n in range(8)]
    line = {"kind": "claims", "seed": 0, "steps": steps}

    made = reordered(line, 7)

    assert made == reordered(line, 7)
    assert made["seed"] == 7
    assert made["steps"] != [{"pod": step["pod"]} for step in steps]
    assert sorted(step["pod"]["n"] for step in made["steps"]) == list(range(8))
