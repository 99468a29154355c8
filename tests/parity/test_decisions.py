"""Decisions: what kube-scheduler decided for each pod of the recorded scenarios, by release, and what we do."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bayplan.conformance import Context, Difference, read_lines
from bayplan.conformance.decisions import outcome_of, verify
from bayplan.scheduler import default_registry

GOLDEN = Path(__file__).parent / "golden"
RECORDING = GOLDEN / "decisions-v1.36.4.jsonl.gz"
RECORDINGS = [RECORDING, GOLDEN / "decisions-v1.37.1.jsonl.gz"]
N_CHUNKS = 8

Line = dict[str, Any]
Step = dict[str, Any]


@cache
def context() -> Context:
    return Context(default_registry())


def differences(line: Line) -> Iterator[tuple[str, Difference]]:
    """All that we do otherwise, with the step it is in."""
    for label, found in verify(line, context().of_line(line)):
        for difference in found:
            yield f"seed {line['seed']}, {label}", difference


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name)
@pytest.mark.parametrize("chunk", range(N_CHUNKS))
def test_recorded_decisions_are_identical(chunk: int, recording: Path) -> None:
    """The same nodes, scores, messages, nominations and victims, to the letter."""
    lines = islice(read_lines(recording), chunk, None, N_CHUNKS)
    found = [f"{step}: {difference}" for line in lines for step, difference in differences(line)]
    assert found == []


@pytest.mark.parametrize(
    ("recording", "n_scenarios", "n_steps", "n_timeouts"),
    [(RECORDINGS[0], 240, 1646, 2), (RECORDINGS[1], 231, 1578, 0)],
    ids=["1.36", "1.37"],
)
def test_the_recording_is_whole(recording: Path, n_scenarios: int, n_steps: int, n_timeouts: int) -> None:
    """Every scenario, with every kind of outcome."""
    lines = list(read_lines(recording))
    steps = [step for line in lines for step in line["steps"]]
    assert (len(lines), len(steps)) == (n_scenarios, n_steps)
    assert sum(bool(step.get("timeout")) for step in steps) == n_timeouts
    assert set(Counter(map(outcome_of, steps))) == {
        "scored",
        "single node",
        "unschedulable",
        "preemption",
        "gated",
    }


# --- the verifier sees differences ---------------------------------------------------------------------


@cache
def recorded(outcome: str) -> tuple[Line, int]:
    """The first scenario with such a step, and which one it is."""
    for line in read_lines(RECORDING):
        for number, step in enumerate(line["steps"]):
            if outcome_of(step) == outcome and not step.get("timeout"):
                return line, number
    raise LookupError(outcome)


def _change_score(step: Step) -> None:
    first = next(iter(step["scores"].values()))
    first["TaintToleration"] += 1


def _change_total(step: Step) -> None:
    next(iter(step["scores"].values()))["total"] -= 1


def _take_a_worse_node(step: Step) -> None:
    step["node"] = min(step["scores"], key=lambda name: step["scores"][name]["total"])


def _forget_a_node(step: Step) -> None:
    del step["scores"][next(name for name in step["scores"] if name != step["node"])]


def _invent_a_node(step: Step) -> None:
    step["scores"]["invented"] = dict(next(iter(step["scores"].values())))


def _change_message(step: Step) -> None:
    step["unschedulable"] = step["unschedulable"].replace("nodes are", "nodes were")


def _change_reason(step: Step) -> None:
    step["reason"] = "SchedulerError"


def _schedule_it(step: Step) -> None:
    del step["unschedulable"], step["reason"]
    step["node"] = "anywhere"


def _change_preemption_message(step: Step) -> None:
    step["preemption"]["message"] += "!"


def _nominate_another(step: Step) -> None:
    step["preemption"]["nominated"] = "elsewhere"


def _spare_a_victim(step: Step) -> None:
    step["preemption"]["victims"] = step["preemption"]["victims"][1:]


def _ungate(step: Step) -> None:
    step["pod"]["spec"]["schedulingGates"] = []


def _place_elsewhere(step: Step) -> None:
    step["node"] = "elsewhere"


def _find_no_node(step: Step) -> None:
    del step["node"]
    step |= {"reason": "Unschedulable", "unschedulable": "0/1 nodes are available: 1 invented."}


@pytest.mark.parametrize(
    ("outcome", "change", "where"),
    [
        ("scored", _change_score, "TaintToleration"),
        ("scored", _change_total, "total"),
        ("scored", _take_a_worse_node, "node"),
        ("scored", _forget_a_node, "scores"),
        ("scored", _invent_a_node, "scores.invented"),
        ("single node", _place_elsewhere, "feasible nodes"),
        ("single node", _find_no_node, "outcome"),
        ("unschedulable", _change_message, "message"),
        ("unschedulable", _change_reason, "reason"),
        ("unschedulable", _schedule_it, "outcome"),
        ("preemption", _change_preemption_message, "message"),
        ("preemption", _nominate_another, "nominated"),
        ("preemption", _spare_a_victim, "victims"),
        ("gated", _ungate, "outcome"),
    ],
    ids=lambda value: value.__name__.strip("_").replace("_", " ") if callable(value) else "",
)
def test_verifier_notices_a_difference(outcome: str, change: Callable[[Step], None], where: str) -> None:
    """A recording that says anything else is reported, at the step and the place."""
    line, number = recorded(outcome)
    line = copy.deepcopy({**line, "steps": line["steps"][: number + 1]})
    change(line["steps"][number])
    try:
        found = list(differences(line))
    except KeyError:
        # The replay goes on with what was recorded, which is impossible where that was invented.
        found = [next(differences(line))]
    assert any(step.startswith(f"seed {line['seed']}, step {number} ") for step, _ in found)
    assert any(where in difference.where for _, difference in found)
