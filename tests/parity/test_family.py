"""The scheduler-plugins family: what its v0.34.7 did in the recorded scenarios, and what we do."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.unit.plugins.gangs.support import gang_configuration, make_group, make_member

from bayplan.conformance import ConformanceReport, Context, read_lines, verify_lines
from bayplan.conformance.gang import started
from bayplan.release import release_named
from bayplan.scheduler import default_registry
from bayplan.shell.played_cluster import Timing
from bayplan.testing import make_node

CREATED = "2026-01-01T00:00:00Z"
Line = dict[str, Any]
RECORDING = Path(__file__).parent / "golden" / "family-v0.34.7.jsonl.gz"
#: Kind → scenarios in the recording.
SCENARIOS = {"gang": 38, "quota": 39, "toleration": 30, "allocatable": 25, "podstate": 10, "order": 24}


@pytest.mark.parametrize("kind", SCENARIOS)
def test_recorded_scenarios_are_identical(kind: str) -> None:
    """Every step of every scenario of the kind comes out as recorded."""
    lines = [line for line in read_lines(RECORDING) if line["kind"] == kind]
    report = ConformanceReport(list(verify_lines(lines, Context(default_registry()))))

    assert report.total == sum(len(line.get("steps", "1")) for line in lines)
    assert report.passed, report.to_text()


@pytest.fixture(scope="module")
def gang_line() -> Line:
    """A line as it would be recorded: of two groups on one node one fits, the other has too few pods."""
    pods = [
        make_member(f"{group}-{i}", group, metadata={"creationTimestamp": CREATED})
        for group in "ab"
        for i in (0, 1)
    ]
    return {
        "kind": "gang",
        "config": gang_configuration(),
        "nodes": [dict(make_node("n").raw)],
        "bound": [],
        "podgroups": [dict(make_group("a", 2).raw), dict(make_group("b", 3).raw)],
        "pending": [dict(pod.raw) for pod in pods],
        "steps": [{"changes": [], "bound_per_group": {"a": 2}, "messages": {}}],
    }


def judged(line: Line, **step: Any) -> list[str]:
    """Where the only step of *line*, changed by *step*, differs."""
    changed = {**line, "steps": [{**line["steps"][0], **step}]}
    (found,) = verify_lines([changed], Context(default_registry()))
    return [difference.where for difference in found.differences]


@pytest.mark.parametrize(
    ("bound", "where"),
    [({"a": 2}, []), ({"a": 1}, ["bound.a"]), ({}, ["bound.a"]), ({"a": 2, "b": 2}, ["bound.b"])],
    ids=["as recorded", "one less", "a group less", "a group more"],
)
def test_every_other_number_of_pods_is_found(gang_line: Line, bound: Line, where: list[str]) -> None:
    """A verifier that finds everything identical is worth nothing."""
    assert judged(gang_line, bound_per_group=bound) == where


@pytest.mark.parametrize(
    ("said", "where"),
    [
        (["1 rejection in Unreserve.", "1 optimistic rejection in PostFilter."], []),
        (["1 rejection in Unreserve.", "1 Insufficient cpu."], ["bound.a"]),
        ([], ["bound.a"]),
    ],
    ids=["all gave back", "one found no node", "nothing was said"],
)
def test_only_a_stranded_group_may_be_placed_anyway(gang_line: Line, said: list[str], where: list[str]) -> None:
    """The recording must have said nothing to its pods but that they gave their places back."""
    messages = {f"a-{i}": [f"0/1 nodes are available: {text}"] for i, text in enumerate(said)}

    assert judged(gang_line, bound_per_group={}, messages=messages) == where


def test_another_order_is_found() -> None:
    """Two pods the other way round are a difference."""
    line = next(line for line in read_lines(RECORDING) if line["kind"] == "order")
    order = [line["order"][1], line["order"][0], *line["order"][2:]]
    (step,) = verify_lines([{**line, "order": order}], Context(default_registry()))

    assert [difference.where for difference in step.differences] == ["order[0]", "order[1]"]


def test_the_same_is_said_to_members() -> None:
    """Every text of a recorded condition is one that we write, names and numbers aside; and no other."""
    recorded, ours = set(), set()
    release = release_named("1.36")  # the oldest; scheduler-plugins was built on 1.34
    for line in read_lines(RECORDING):
        if line["kind"] == "gang":
            replay = started(line, Context(default_registry(release=release)), Timing(attempt_seconds=0.01))
            replay.run(8.0)
            replay.close()
            ours |= {_form(text) for texts in replay.messages.values() for text in texts}
            recorded |= {_form(text) for texts in line["steps"][0]["messages"].values() for text in texts}

    # A gated pod's condition is the API server's.
    assert ours == recorded - {"Scheduling is blocked due to non-empty scheduling gates"}


def _form(text: str) -> str:
    text = re.sub(r"\b([Pp]od|PodGroup|podGroup) \S+", r"\1 NAME", text)
    return re.sub(r"\d+", "N", text)


def test_the_recording_is_whole() -> None:
    """All 166 scenarios are there."""
    assert Counter(line["kind"] for line in read_lines(RECORDING)) == SCENARIOS
