"""Answers of a running scheduler, from its records and its queue."""

from __future__ import annotations

import numpy as np
from tests.unit.explain.applied import LOADED, REGISTRY

from bayplan.core import SchedulerCore
from bayplan.core.messages import ObjectChanged
from bayplan.explain.custom_remedies import GROUP_LABEL
from bayplan.explain.live_answers import RECOUNT_SECONDS, LiveAnswers, RecentCounts
from bayplan.explain.live_copy import LiveCopy
from bayplan.explain.node_answers import recorded_detail
from bayplan.framework.verdict import FilterOutcome
from bayplan.model import KubeObject, Pod, PodGroup
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


def test_earlier_attempts_are_named() -> None:
    """The latest first, with their messages; those of another pod of the same name are not its own."""
    pod = make_pod("p", cpu="2")
    live = Live(make_node("n", cpu="1"), pod)
    live.core.handle(ObjectChanged(None, make_node("m", cpu="1")))
    live.clock.advance(400)  # it has waited long enough to be tried anyway
    live.core.run_due()
    assert live.core.schedule_one() is not None

    messages = [each.message.partition(":")[0] for each in live.answers.explain(pod).attempts]
    assert messages == ["0/2 nodes are available", "0/1 nodes are available"]
    assert live.answers.explain(make_pod("p", cpu="2")).attempts == ()


def test_gang_and_volumes_are_explained() -> None:
    """As by the explanation of a cluster that was read."""
    group = PodGroup.from_dict({"metadata": {"name": "g", "namespace": "default"}, "spec": {"minMember": 3}})
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    pod = make_pod("p", labels={GROUP_LABEL: "g"}, spec={"volumes": [volume]})
    live = Live(make_node("n"), group, pod)

    answer = live.answers.explain(pod)

    assert answer.gang is not None
    assert answer.gang.summary == "needs 3 members; 1 exist, 0 are on nodes"
    assert [each.summary for each in answer.volumes] == ["no such claim was seen"]


def test_counts_are_made_again_after_a_while() -> None:
    """To count takes a look at all pods, so it is not done for every question."""
    clock, counted = VirtualClock(), iter(range(9))
    counts = RecentCounts(clock)

    assert [counts.get("a", lambda: next(counted)) for _ in range(3)] == [0, 0, 0]
    assert counts.get("b", lambda: next(counted)) == 1
    clock.advance(RECOUNT_SECONDS)
    assert counts.get("a", lambda: next(counted)) == 2


def test_a_node_outside_the_sample_was_not_asked_about() -> None:
    """A search that has found enough nodes stops; that is neither a yes nor a no."""
    nodes = Live(make_node("a"), make_node("b")).core.cache.snapshot().nodes
    outcome = FilterOutcome(nodes, np.array([True, False]), [])

    details = [recorded_detail(outcome, name, ["NodeName"], None) for name in ("a", "b", "elsewhere")]

    assert [None if each is None else each.verdicts[0].status for each in details] == ["Passed", "NotAsked", None]


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
