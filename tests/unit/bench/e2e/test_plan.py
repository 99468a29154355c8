"""The order of the phases."""

from __future__ import annotations

from collections import Counter

import pytest
from bench.e2e import plan
from bench.e2e.plan import Contestant, Mode, Step
from bench.e2e.run import DECISION_PODS, pods_of
from bench.e2e.workload import Workload

PLAIN = Workload(name="plain", description="", pods=10)
WITH_NULL = Workload(name="basic", description="", pods=10, has_null=True)
BURST_ONLY = Workload(name="waiting", description="", pods=10, burst_only=True, in_order=False)


def test_every_second_pair_is_turned_round() -> None:
    """kube-scheduler, Bayplan, Bayplan, kube-scheduler: neither is always the first."""
    steps = plan.make([PLAIN], [], [500], pairs=3, decisions=False)

    kube, ours = Contestant.KUBE, Contestant.BAYPLAN
    assert [step.scheduler for step in steps] == [kube, ours, ours, kube, kube, ours]
    assert [step.pair for step in steps] == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(("pairs", "expected"), [(1, 1), (2, 2), (5, 2), (8, 4)])
def test_control_is_taken_at_least_twice(pairs: int, expected: int) -> None:
    """Both kinds of the null scheduler, in the first and the last pair, as far as there are so many pairs."""
    steps = plan.make([WITH_NULL], [Mode.BURST], [500], pairs=pairs, decisions=False)

    counts = Counter(step.scheduler for step in steps)
    assert (counts[Contestant.NULL], counts[Contestant.NULL_EVENTS]) == (expected, expected)
    taken = [step.pair for step in steps if step.scheduler is Contestant.NULL]
    assert (taken[0], taken[-1]) == (0, pairs - 1)


def test_small_clusters_come_first() -> None:
    """A cluster grows from size to size; its nodes are never made anew."""
    steps = plan.make([PLAIN], [], [5_000, 500], pairs=1, decisions=False)

    assert [step.n_nodes for step in steps] == [500, 500, 5_000, 5_000]


def test_a_workload_may_have_sizes_of_its_own() -> None:
    """Unless sizes are asked for."""
    own = Workload(name="own", description="", pods=10, sizes=(2_000,))

    steps = plan.make([PLAIN, own], [], [], pairs=1, decisions=False)
    assert {(step.workload, step.n_nodes) for step in steps} == {("plain", 500), ("plain", 5_000), ("own", 2_000)}
    steps = plan.make([own], [], [500], pairs=1, decisions=False)
    assert {step.n_nodes for step in steps} == {500}


def test_modes_without_sense_are_left_out() -> None:
    """Pods that wait for something are there before the scheduler, or they would not wait."""
    steps = plan.make([BURST_ONLY, PLAIN], [Mode.STREAM], [500], pairs=1, decisions=False)

    assert {step.workload for step in steps} == {"plain"}


def test_choices_are_compared_where_their_order_is_known() -> None:
    """Where pods are tried again, which one comes next depends on time."""
    steps = plan.make([BURST_ONLY, PLAIN], [], [500], pairs=0, decisions=True)

    assert [(step.workload, step.scheduler) for step in steps] == [
        ("plain", Contestant.KUBE),
        ("plain", Contestant.BAYPLAN),
    ]


def test_small_clusters_are_measured_less_often_and_have_the_choices() -> None:
    """Five pairs where the figures are looked at; every node is asked about where there are few of them."""
    steps = plan.make([PLAIN], [], [5_000, 500], pairs=5, decisions=True)

    counts = Counter((step.n_nodes, step.mode) for step in steps)
    assert counts == {(500, Mode.BURST): 4, (500, Mode.DECISIONS): 2, (5_000, Mode.BURST): 10}


@pytest.mark.parametrize(
    ("mode", "n_nodes", "asked", "expected"),
    [
        (Mode.BURST, 5_000, None, 1500),
        (Mode.BURST, 500, None, 500),
        (Mode.BURST, 5_000, 100, 100),
        (Mode.DECISIONS, 200, None, 200),
        (Mode.DECISIONS, 5_000, None, DECISION_PODS),
    ],
    ids=["room for all", "a small cluster", "fewer are asked for", "choices in a small cluster", "choices"],
)
def test_no_more_pods_than_fit(mode: Mode, n_nodes: int, asked: int | None, expected: int) -> None:
    """Pods that keep away from each other are as many as nodes, at most: the others would never be bound."""
    alone = Workload(name="alone", description="", pods=1500, fit_on_node=1)

    assert pods_of(Step("alone", mode, n_nodes, Contestant.KUBE, 0), alone, asked) == expected
