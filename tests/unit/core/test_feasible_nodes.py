"""percentageOfNodesToScore: how many nodes are looked for, and where the search begins."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from bayplan.core.feasible_nodes import first_feasible, n_feasible_wanted
from bayplan.framework import CycleState, IntArray, NodeInfo, NodeTable, Plugin, SearchPlan
from bayplan.model import Pod
from bayplan.testing import Harness, make_node, make_pod

CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: {percentage}
profiles:
- schedulerName: default-scheduler
  {own}
"""


class Flat(Plugin):
    """Scores all nodes alike, as a column."""

    name = "Flat"

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        return np.zeros(len(nodes), dtype=np.int64)


class OneByOne(Plugin):
    """Looks at nodes one at a time."""

    name = "OneByOne"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        return None


# --- numFeasibleNodesToFind --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_nodes", "percentage", "wanted"),
    [
        (0, 0, 0),
        (10, 0, 10),
        (99, 30, 99),
        (100, 0, 100),
        (100, 30, 100),
        (200, 0, 100),
        (500, 0, 230),
        (1000, 0, 420),
        (1000, 40, 400),
        (1000, 100, 1000),
        (2000, 0, 680),
        (5000, 0, 500),
        (6000, 0, 300),
        (6000, 40, 2400),
        (15000, 0, 750),
        (1001, 33, 330),
    ],
)
def test_number_of_nodes_to_find(n_nodes: int, percentage: int, wanted: int) -> None:
    """As kube-scheduler's numFeasibleNodesToFind: all below 100, then a share, never below 100 nodes or 5 %."""
    assert n_feasible_wanted(n_nodes, percentage, samples=True) == wanted


@pytest.mark.parametrize(("percentage", "wanted"), [(0, 5000), (10, 500)], ids=["default", "explicit"])
def test_columns_look_at_every_node(percentage: int, wanted: int) -> None:
    """0 means all nodes where no plugin looks at nodes one at a time; an explicit value means what it says."""
    assert n_feasible_wanted(5000, percentage, samples=False) == wanted


# --- the cut -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feasible", "start", "wanted", "found", "n_seen"),
    [
        ([1, 1, 1, 1], 0, 2, [0, 1], 2),
        ([1, 1, 1, 1], 3, 2, [3, 0], 2),
        ([1, 0, 0, 1, 1], 0, 2, [0, 3], 4),
        ([1, 0, 0, 1, 0], 0, 2, [0, 3], 5),
        ([0, 0, 0], 1, 2, [], 3),
    ],
    ids=["enough at once", "from the start on, and round", "up to one too many", "all seen", "none feasible"],
)
def test_first_feasible(feasible: list[int], start: int, wanted: int, found: list[int], n_seen: int) -> None:
    """The first feasible nodes from the start on; the search notices that it has enough at the next one."""
    order = np.roll(np.arange(len(feasible)), -start)
    positions, seen = first_feasible(np.array(feasible, dtype=np.bool_), SearchPlan(order, wanted))
    assert (positions.tolist(), seen) == (found, n_seen)


def test_cut_follows_the_search_order() -> None:
    """Positions are those of the table, in the order of the search."""
    positions, seen = first_feasible(np.ones(4, dtype=np.bool_), SearchPlan(np.array([0, 3, 1, 2]), 2))
    assert (positions.tolist(), seen) == ([0, 3], 2)


# --- in a cycle --------------------------------------------------------------------------------------


def cluster(n_nodes: int, **options: object) -> Harness:
    return Harness(nodes=[make_node(f"n{i:04}") for i in range(n_nodes)], **options)  # type: ignore[arg-type]


def considered(harness: Harness, name: str = "p", **fields: str) -> list[str]:
    """The nodes that were scored."""
    scores = harness.decide(make_pod(name, **fields)).scores  # type: ignore[arg-type]
    assert scores is not None
    return [str(each) for each in scores.nodes.names]


def test_default_profile_scores_every_node() -> None:
    """Our own plugins are columns, so every node is scored."""
    assert len(considered(cluster(300))) == 300


def test_per_node_plugin_brings_the_window() -> None:
    """As soon as one plugin looks at nodes one at a time, kube-scheduler's window applies: 300 nodes, 48 %."""
    assert len(considered(cluster(300, plugins=[OneByOne]))) == 144


@pytest.mark.parametrize(
    ("percentage", "own", "n_scored"),
    [(50, "", 150), (50, "percentageOfNodesToScore: 70", 210), (100, "", 300), (1, "", 100)],
    ids=["of all profiles", "of the profile", "everything", "at least 100"],
)
def test_explicit_percentage(percentage: int, own: str, n_scored: int) -> None:
    """The profile's own value goes before the one of all profiles."""
    text = CONFIGURATION.format(percentage=percentage, own=own)
    assert len(considered(cluster(300, configuration=text))) == n_scored


def test_every_node_gets_its_turn() -> None:
    """Each search begins where the one before it ended, round and round."""
    harness = cluster(300, configuration=CONFIGURATION.format(percentage=50, own=""))
    windows = [considered(harness) for _ in range(6)]
    assert all(not set(first) & set(second) for first, second in pairwise(windows))
    assert set(Counter(name for window in windows for name in window).values()) == {3}


def test_rejected_nodes_move_the_start_too() -> None:
    """Nodes that were looked at in vain are not looked at again first."""
    harness = Harness(
        nodes=[make_node(f"n{i:04}", unschedulable=i < 100) for i in range(300)],
        configuration=CONFIGURATION.format(percentage=34, own=""),
    )
    assert considered(harness) == [f"n{i:04}" for i in range(100, 202)]
    assert considered(harness) == [f"n{i:04}" for i in (*range(202, 300), *range(100, 104))]


def test_window_over_a_subset() -> None:
    """Where PreFilter narrows the nodes, the window is cut from those."""
    named = [f"n{i:04}" for i in range(120)]
    spec = {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
                        for name in named
                    ]
                }
            }
        }
    }
    harness = cluster(300, configuration=CONFIGURATION.format(percentage=50, own=""))
    scores = harness.decide(make_pod("p", spec=spec)).scores
    assert scores is not None
    assert [str(name) for name in scores.nodes.names] == named[:100]


def test_scores_of_a_window_that_moves() -> None:
    """Kept scores are picked for the nodes of the window, whichever these are."""
    harness = cluster(300, configuration=CONFIGURATION.format(percentage=50, own=""))
    for i in range(0, 300, 7):
        harness.add(make_pod(f"load{i}", cpu="1", node_name=f"n{i:04}"))
    for _ in range(3):
        scores = harness.decide(make_pod("p", cpu="100m")).scores
        assert scores is not None
        raw = dict(zip(scores.nodes.names, scores.by_plugin["NodeResourcesFit"].raw.tolist(), strict=True))
        loaded = {score for name, score in raw.items() if int(name[1:]) % 7 == 0}
        assert len(loaded) == 1
        assert len(set(raw.values()) - loaded) == 1


# --- the order of the search -------------------------------------------------------------------------


def test_zones_take_turns() -> None:
    """Nodes are looked at zone by zone in turn; a zone that has no more is passed over."""
    zones = ("a", "a", "a", "b", None, "b")
    harness = Harness()
    for i, zone in enumerate(zones):
        labels = {"topology.kubernetes.io/zone": zone} if zone else {}
        harness.add(make_node(f"n{i}", labels=labels))
    order = harness.core.cache.snapshot().search_order()
    assert order.tolist() == [0, 3, 4, 1, 5, 2]


@pytest.mark.parametrize(
    ("labels", "same"),
    [
        ({"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z"}, True),
        ({"failure-domain.beta.kubernetes.io/region": "r", "failure-domain.beta.kubernetes.io/zone": "z"}, True),
        ({"topology.kubernetes.io/zone": "z"}, False),
        ({"topology.kubernetes.io/region": "r"}, False),
        ({}, False),
    ],
    ids=["the same labels", "the older labels", "another region", "another zone", "none"],
)
def test_zone_is_region_and_zone(labels: dict[str, str], same: bool) -> None:
    """Zones of the same name in different regions are different zones; older label names count too."""
    first = {"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z"}
    harness = Harness(
        nodes=[make_node("a", labels=first), make_node("b", labels=first), make_node("c", labels=labels)]
    )
    order = harness.core.cache.snapshot().search_order().tolist()
    assert order == ([0, 1, 2] if same else [0, 2, 1])


def test_search_order_of_an_empty_cluster() -> None:
    """No nodes, no order."""
    assert Harness().core.cache.snapshot().search_order().tolist() == []
