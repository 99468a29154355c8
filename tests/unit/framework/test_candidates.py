"""Candidates of preemption: their rank, the best of them, and when enough are found."""

from __future__ import annotations

from datetime import UTC, datetime

from bayplan.framework import Candidate, PreemptionReport, Status, Victims
from bayplan.framework.candidates import PRIORITY_SHIFT, CandidateList, candidate_of, none_needed
from bayplan.model import Pod
from bayplan.testing import make_pod

NOW = datetime(2024, 1, 2, tzinfo=UTC)


def victim(name: str, priority: int = 0, minute: int | None = 0) -> Pod:
    """A pod that started *minute* minutes after midnight; None: it has not started."""
    status = {} if minute is None else {"startTime": f"2024-01-01T00:{minute:02}:00Z"}
    return make_pod(name, priority=priority, status=status)


def candidate(name: str, *pods: Pod, n_violations: int = 0) -> Candidate:
    return candidate_of(name, Victims(pods or (victim("v"),), n_violations), NOW)


def test_rank_and_start() -> None:
    """Violations, highest priority, shifted sum of priorities, number of victims; the earliest start of the most
    important victims."""
    found = candidate("a", victim("x", 5, 9), victim("y", 5, 7), victim("z", -3, 1), n_violations=2)
    assert found.rank == (2, 5, 7 + 3 * PRIORITY_SHIFT, 3)
    assert found.start == datetime(2024, 1, 1, 0, 7, tzinfo=UTC).timestamp()
    assert candidate("b", victim("new", minute=None)).start is None


def test_latest_start_decides_between_equal_ranks() -> None:
    """A victim that has not started counts as started at the time of the comparison."""
    early, late, new = (candidate(name, victim("v", minute=m)) for name, m in (("a", 1), ("b", 9), ("c", None)))
    worse = candidate("d", victim("v", priority=1, minute=30))
    assert PreemptionReport([early, late, worse], {}, NOW.timestamp()).best == [late]
    assert PreemptionReport([early, new, late], {}, NOW.timestamp()).best == [new]
    assert PreemptionReport([late, worse, late], {}, NOW.timestamp()).best == [late, late]


def test_enough_candidates() -> None:
    """The list is complete with as many as wanted, if one of them violates no budget; then no more are taken."""
    found = CandidateList(2)
    violating = [candidate(f"v{i}", n_violations=1) for i in range(3)]
    found.note([("none", none_needed("none")), *((each.node_name, each) for each in violating)])
    assert not found.is_complete
    good = candidate("good")
    found.note([("good", good), ("never", candidate("never"))])
    assert found.is_complete
    assert found.candidates == [good, *violating]
    assert found.refused == {"none": Status.failed('expected at least one victim pod on node "none"')}


def test_how_many_nodes_to_try_next() -> None:
    """At least a chunk; without a candidate that violates no budget as many as wanted in all."""
    assert CandidateList(5).n_next == 32
    found = CandidateList(100)
    assert found.n_next == 100
    found.note([("v", candidate("v", n_violations=1))])
    assert found.n_next == 100
    found.note([("a", candidate("a"))])
    assert found.n_next == 98
