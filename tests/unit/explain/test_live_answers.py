"""Answers of a running scheduler, from its records and its queue."""

from __future__ import annotations

from tests.unit.explain.applied import LOADED, REGISTRY

from bayplan.core import SchedulerCore
from bayplan.core.messages import ObjectChanged
from bayplan.explain.live_answers import LiveAnswers
from bayplan.explain.live_copy import LiveCopy
from bayplan.model import KubeObject, Pod
from bayplan.observe.record import Ring
from bayplan.testing import VirtualClock, make_node, make_pod


class Live:
    """A core that schedules, without anything around it."""

    def __init__(self, *objects: KubeObject) -> None:
        self.clock = VirtualClock()
        self.records = Ring()
        self.core = SchedulerCore(LOADED, REGISTRY, clock=self.clock, records=self.records, seed=0)
        for each in objects:
            self.core.handle(ObjectChanged(None, each))
        while self.core.schedule_one() is not None:
            self.core.take_instructions()
        self.answers = LiveAnswers(self.core, self.records)


def test_a_rejected_pod_is_explained_by_its_record() -> None:
    """And by its place in the queue: since when, how often, what wakes it, when it is tried at the latest."""
    pod = make_pod("p", cpu="2")
    live = Live(make_node("n", cpu="1"), pod)

    answer = live.answers.explain(pod)

    assert answer.outcome.summary == "No node takes default/p: 1 Insufficient cpu."
    assert answer.nodes is not None
    assert [group.nodes for group in answer.nodes.groups] == [("n",)]
    queue = answer.queue
    assert queue is not None
    assert (queue.queue, queue.attempts) == ("unschedulable", 1)
    assert [each.plugin for each in queue.wakes] == ["NodeResourcesFit"]
    assert queue.since is not None
    assert queue.next_try is not None
    assert queue.since < queue.next_try


def test_a_placed_pod_has_the_scores_of_its_attempt() -> None:
    """As they were: other pods have come since."""
    pod = make_pod("p", cpu="1")
    live = Live(make_node("a"), make_node("b"), pod, make_pod("later", cpu="2"))

    answer = live.answers.explain(pod)

    assert answer.placement is not None
    assert answer.placement.node in ("a", "b")
    assert answer.placement.n_feasible == 2
    assert answer.placement.total == sum(each.weighted for each in answer.placement.scores)


def test_gated_and_foreign_pods_have_no_record() -> None:
    gated, foreign = (
        make_pod("g", spec={"schedulingGates": [{"name": "x"}]}),
        make_pod("f", scheduler_name="other"),
    )
    live = Live(make_node("n"), gated, foreign)

    assert live.answers.explain(gated).outcome.state == "Gated"
    assert live.answers.explain(foreign).outcome.state == "OtherScheduler"


def test_a_copy_follows_the_running_core() -> None:
    """Objects that changed, came or went, and pods that are assumed; the copy schedules nothing."""
    pod = make_pod("p", cpu="1")
    live = Live(make_node("n", cpu="1"), pod)
    copy = LiveCopy(live.core, LOADED, REGISTRY, live.clock)

    list(copy.steps())
    assert copy.scheduler.feasible_nodes(make_pod("q", cpu="1")) == []  # p is assumed there
    live.core.handle(ObjectChanged(None, make_node("m")))
    list(copy.steps())
    assert copy.scheduler.feasible_nodes(make_pod("q", cpu="1")) == ["m"]
    live.core.handle(ObjectChanged(live.core.cache.node("m"), None))
    list(copy.steps())
    assert copy.scheduler.feasible_nodes(make_pod("q", cpu="1")) == []
    assert not copy.scheduler.core.queue.has_ready


def test_questions_do_not_change_the_running_core() -> None:
    pod: Pod = make_pod("p", cpu="2")
    live = Live(make_node("n", cpu="1"), pod)
    before = live.core.queue.counts(), live.records.n_added

    live.answers.explain(pod)

    assert (live.core.queue.counts(), live.records.n_added) == before
    live.core.queue.validate()
