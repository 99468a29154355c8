"""Decisions and failures in the words of a pod's condition."""

from __future__ import annotations

import pytest

from bayplan.core.decision import Decision, Failure
from bayplan.framework import Status
from bayplan.observe.record import Record
from bayplan.testing import make_pod


@pytest.mark.parametrize(
    ("status", "message", "plugins", "pending"),
    [
        (Status.unschedulable("no").by("P"), "0/1 nodes are available: 1 no.", {"P"}, set()),
        (Status.pending("later").by("P"), "0/1 nodes are available: 1 later.", {"P"}, {"P"}),
        (Status.failed("lost").by("P"), "lost", set(), set()),
    ],
    ids=["rejection", "pending", "error"],
)
def test_failure_on_a_chosen_node(status: Status, message: str, plugins: set[str], pending: set[str]) -> None:
    """A rejection speaks of that one node; an error speaks for itself, and names no rejector."""
    failure = Failure.on_node(status, announced_node="a")
    assert (failure.message, failure.announced_node) == (message, "a")
    assert failure.unschedulable_plugins == plugins
    assert failure.pending_plugins == pending


def test_condition_of_a_failure() -> None:
    pod = make_pod("p", metadata={"generation": 3})
    condition = Failure.of_exception(KeyError("x")).condition(pod)
    assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "SchedulerError")
    assert (condition.message, condition.observed_generation) == ("KeyError: 'x'", 3)


def test_decision_that_broke_has_no_diagnosis() -> None:
    decision = Decision(Status.failed("broken"), Record("default/p", "u", "default-scheduler"), nominate="")
    failure = Failure.of_decision(decision)
    assert (decision.reason, decision.message, failure.nominate) == ("SchedulerError", "broken", "")
    assert failure.unschedulable_plugins == frozenset()
