"""CapacityScheduling: a namespace up to its min, above it, and at its max."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.unit.plugins.quotas.support import CONFIGURATION, quota, running

from bayplan.core import Decision
from bayplan.framework import Hint, registered_events
from bayplan.model import ElasticQuota, KubeObject, Pod, PodDisruptionBudget
from bayplan.testing import Harness, make_node, make_pod

#: Two teams that are sure of 4 cores each and may use 6.
TEAMS = (
    quota("team-a", {"cpu": "4", "memory": "8Gi"}, {"cpu": "6", "memory": "64Gi"}),
    quota("team-b", {"cpu": "4", "memory": "8Gi"}, {"cpu": "6", "memory": "64Gi"}),
)


def cluster(*pods: Pod, quotas: Iterable[KubeObject] = TEAMS, nodes: int = 1, cpu: str = "8") -> Harness:
    return Harness(
        nodes=[make_node("abcdefgh"[i], cpu=cpu) for i in range(nodes)],
        objects=quotas,
        pods=pods,
        configuration=CONFIGURATION,
    )


def victims(decision: Decision) -> list[str]:
    return sorted(pod.name for pod in decision.victims)


# --- PreFilter ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quotas", "requests", "node"),
    [
        pytest.param(TEAMS, {"cpu": "4"}, "a", id="up to min"),
        pytest.param(TEAMS, {"cpu": "6"}, "a", id="borrows up to max"),
        pytest.param((quota("team-a"),), {"cpu": "1"}, "", id="no min is a min of nothing"),
        pytest.param((quota("team-a", {"cpu": "4"}),), {"cpu": "4"}, "a", id="no max is no limit"),
        pytest.param((quota("team-a", {"cpu": "4"}, {}),), {"cpu": "4"}, "", id="an empty max allows nothing"),
        pytest.param(
            (quota("team-a", {"cpu": "4", "memory": "4Gi"}, {"cpu": "4"}),),
            {"cpu": "1", "memory": "1"},
            "",
            id="a max without memory allows none",
        ),
        pytest.param(
            (quota("team-a", {"cpu": "4", "example.com/gpu": 1}, {"cpu": "4"}),),
            {"cpu": "1", "example.com/gpu": "1"},
            "a",
            id="a max that does not name an extended resource does not limit it",
        ),
        pytest.param(
            (quota("team-a", {"cpu": "4"}, {"cpu": "4"}),),
            {"cpu": "1", "example.com/gpu": "1"},
            "",
            id="a min that does not name an extended resource has none of it",
        ),
        pytest.param((quota("other", {"cpu": "4"}),), {"cpu": "8"}, "a", id="namespace without a quota"),
        pytest.param((quota("team-a", {"cpu": "4"}, {"cpu": "6", "pods": 0}),), {"cpu": "1"}, "a", id="pods"),
    ],
)
def test_quota_admits_a_pod(quotas: tuple[ElasticQuota, ...], requests: dict[str, str], node: str) -> None:
    """Compared are cpu, memory, ephemeral storage and what else the pod requests: with max, then with all mins."""
    harness = Harness(
        nodes=[make_node("a", cpu="8", resources={"example.com/gpu": "4"})],
        objects=quotas,
        configuration=CONFIGURATION,
    )
    assert harness.decide(make_pod("p", namespace="team-a", requests=requests)).node_name == node


def test_message_above_max() -> None:
    """The message names the pod and its namespace's quota, then what each node said to preemption."""
    harness = cluster(running("r", "team-a", cpu="6"))

    decision = harness.decide(make_pod("p", namespace="team-a", cpu="1"))

    assert decision.message == (
        "0/1 nodes are available: Pod team-a/p is rejected in PreFilter because ElasticQuota team-a is more than "
        "Max. 0/1 nodes are available: 1 No victims found on node a for preemptor pod p."
    )


def test_message_when_nothing_is_left_to_borrow() -> None:
    """Above all mins together nobody gets more, whatever room there is on nodes."""
    harness = cluster(running("x", "team-a", cpu="5"), running("y", "team-b", cpu="3"), cpu="32")

    decision = harness.decide(make_pod("p", namespace="team-a", cpu="1", spec={"preemptionPolicy": "Never"}))

    assert decision.message == (
        "0/1 nodes are available: Pod team-a/p is rejected in PreFilter because total ElasticQuota used is more "
        "than min. not eligible due to preemptionPolicy=Never."
    )


def test_nominated_pods_of_the_namespace_count() -> None:
    """A pod leaves room for those of its namespace that were promised a node, unless its priority is higher."""
    harness = cluster(cpu="32")
    harness.core.nominator.add(make_pod("promised", namespace="team-a", cpu="5", priority=5), "a")

    assert not harness.decide(make_pod("p", namespace="team-a", cpu="2", priority=5)).node_name
    assert harness.decide(make_pod("q", namespace="team-a", cpu="2", priority=6)).node_name == "a"


@pytest.mark.parametrize(
    ("used_by_b", "node"),
    [("3", ""), ("5", "a")],
    ids=["its namespace is below min: it goes first", "its namespace borrows: it waits"],
)
def test_nominated_pods_of_other_namespaces(used_by_b: str, node: str) -> None:
    """They count as long as their namespace has not got what it is sure of."""
    harness = cluster(running("y", "team-b", cpu=used_by_b), cpu="32")
    harness.core.nominator.add(make_pod("promised", namespace="team-b", cpu="1"), "a")

    asks_for_the_rest = make_pod("p", namespace="team-a", cpu=str(8 - int(used_by_b)))
    assert harness.decide(asks_for_the_rest).node_name == node


def test_assumed_pods_count_at_once() -> None:
    """A pod that was given a node counts for the next one, before anything is bound."""
    harness = cluster(cpu="32")
    assert harness.schedule(make_pod("p", namespace="team-a", cpu="4")).node_name == "a"
    assert harness.schedule(make_pod("q", namespace="team-a", cpu="2")).node_name == "a"
    assert not harness.schedule(make_pod("r", namespace="team-a", cpu="1")).node_name


def test_quota_that_comes_later_counts_the_pods_there_are() -> None:
    """Unlike in the original, which counts from the moment the quota came."""
    harness = cluster(running("r", "team-a", cpu="6"), quotas=(), cpu="32")
    assert harness.decide(make_pod("p", namespace="team-a", cpu="1")).node_name == "a"
    harness.add(*TEAMS)
    assert not harness.decide(make_pod("p", namespace="team-a", cpu="1")).node_name


def test_quota_may_change_and_go() -> None:
    """A raised max admits, a deleted quota limits nobody."""
    harness = cluster(running("r", "team-a", cpu="6"), cpu="32")
    pod = make_pod("p", namespace="team-a", cpu="1")
    assert not harness.decide(pod).node_name
    raised = quota("team-a", {"cpu": "8", "memory": "8Gi"}, {"cpu": "8", "memory": "64Gi"})
    harness.add(raised)
    assert harness.decide(pod).node_name == "a"
    for each in (raised, TEAMS[1]):
        harness.core.objects.remove(each)
    assert harness.decide(make_pod("q", namespace="team-a", cpu="20")).node_name == "a"


# --- PostFilter -----------------------------------------------------------------------------------


def test_reclaim_takes_from_who_borrows_whatever_the_priority() -> None:
    """What a namespace is sure of it gets back, from pods of higher priority too, the least important first."""
    harness = cluster(
        running("high", "team-b", cpu="3", priority=1000),
        running("low", "team-b", cpu="3", priority=1),
    )

    decision = harness.decide(make_pod("p", namespace="team-a", cpu="3"))

    assert decision.nominate == "a"
    assert victims(decision) == ["low"]


def test_reclaim_stops_at_min() -> None:
    """Pods beyond what was borrowed are safe: team-b keeps its 4 cores, even if the pod then finds no place."""
    harness = cluster(*(running(f"r{i}", "team-b", cpu="1", start=i) for i in range(5)), cpu="5")

    assert victims(harness.decide(make_pod("p", namespace="team-a", cpu="1"))) == ["r4"]
    too_much = harness.decide(make_pod("q", namespace="team-a", cpu="2"))
    assert (too_much.nominate, victims(too_much)) == ("", [])
    assert too_much.message.endswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_who_borrows_evicts_only_its_own() -> None:
    """A pod above its namespace's min takes the place of lower priority in its own namespace, of nobody else."""
    harness = cluster(
        running("own", "team-a", cpu="5", priority=1),
        running("other", "team-b", cpu="3", priority=0),
    )

    decision = harness.decide(make_pod("p", namespace="team-a", cpu="2", priority=10))

    assert victims(decision) == ["own"]


def test_max_is_kept_by_evicting_own_pods() -> None:
    """At max, room on a node does not help; evicting a pod of one's own does."""
    harness = cluster(
        running("own-1", "team-a", cpu="3", priority=1, start=1),
        running("own-2", "team-a", cpu="3", priority=1, start=2),
        cpu="32",
    )

    decision = harness.decide(make_pod("p", namespace="team-a", cpu="2", priority=10))

    assert victims(decision) == ["own-2"]


def test_global_quota_is_said_where_eviction_is_not_enough() -> None:
    """Without all of its own pods of lower priority on the node the namespace would still be above max."""
    harness = cluster(
        running("there", "team-a", "b", cpu="5", priority=1), running("here", "team-a", cpu="1"), nodes=2, cpu="32"
    )

    decision = harness.decide(make_pod("p", namespace="team-a", cpu="4", priority=1))

    assert decision.message.endswith(
        "0/2 nodes are available: 1 No victims found on node b for preemptor pod p, 1 global quota max exceeded."
    )


def test_pods_without_a_quota_keep_to_themselves() -> None:
    """They go by priority, and evict nobody who has a quota."""
    harness = cluster(
        running("free", "default", cpu="2", priority=1), running("owned", "team-a", cpu="6", priority=0)
    )

    assert victims(harness.decide(make_pod("p", cpu="2", priority=10))) == ["free"]
    assert not harness.decide(make_pod("q", cpu="3", priority=10)).nominate


def test_budgets_of_victims_are_counted() -> None:
    """A victim that goes because of a quota, not for room, violates its budget all the same: the other node is
    better."""
    guarded = {"app": "guarded"}
    harness = cluster(
        running("guarded", "team-a", "a", cpu="3", labels=guarded, start=1),
        running("plain", "team-a", "b", cpu="3", start=1),
        nodes=2,
        cpu="32",
    )
    harness.add(
        PodDisruptionBudget.from_dict(
            {
                "metadata": {"name": "g", "namespace": "team-a"},
                "spec": {"selector": {"matchLabels": guarded}},
                "status": {"disruptionsAllowed": 0},
            }
        )
    )

    decision = harness.decide(make_pod("p", namespace="team-a", cpu="2", priority=10))

    assert (decision.nominate, victims(decision)) == ("b", ["plain"])


def leaving(name: str, namespace: str, **fields: Any) -> Pod:
    return running(name, namespace, metadata={"deletionTimestamp": "2024-01-01T01:00:00Z"}, **fields)


@pytest.mark.parametrize(
    ("terminating", "waits"),
    [
        pytest.param(leaving("v", "team-b", cpu="5", priority=9), True, id="of a namespace that borrows"),
        pytest.param(leaving("v", "team-b", cpu="4", priority=9), False, id="of a namespace within its min"),
        pytest.param(leaving("v", "team-a", cpu="1", priority=1), True, id="of its own, with lower priority"),
        pytest.param(leaving("v", "team-a", cpu="1", priority=9), False, id="of its own, with equal priority"),
        pytest.param(leaving("v", "default", cpu="5"), False, id="without a quota"),
    ],
)
def test_waits_for_terminating_victims(terminating: Pod, waits: bool) -> None:
    """While a pod that makes room is on its way out of the promised node, nobody else is evicted."""
    harness = cluster(terminating, running("big", "default", cpu="5"))
    pod = make_pod("p", namespace="team-a", cpu="3", priority=9, status={"nominatedNodeName": "a"})

    decision = harness.decide(pod)

    assert decision.message.endswith("not eligible due to a terminating pod on the nominated node.") is waits


def test_waits_while_victims_are_being_evicted() -> None:
    """Between the choice of victims and their deletion a second look must not choose others."""
    harness = cluster(running("v", "team-b", cpu="6"))
    plugin: Any = harness.profile().plugins.plugins["CapacityScheduling"]
    plugin.handle.is_preempting = lambda pod: True

    decision = harness.decide(make_pod("p", namespace="team-a", cpu="4"))

    assert not decision.nominate
    assert decision.message.endswith("not eligible due to a terminating pod on the nominated node.")


# --- queue ----------------------------------------------------------------------------------------


def test_status_of_a_quota_wakes_nobody() -> None:
    """A controller writes the status all the time; only a change of the spec can help."""
    plugin = cluster().profile().plugins.plugins["CapacityScheduling"]
    pods, _, quotas = registered_events(plugin) or ()
    pod, old = make_pod("p", namespace="team-a"), TEAMS[0]
    used = ElasticQuota.from_dict({**old.raw, "status": {"used": {"cpu": "1"}}})

    assert (pods.resource, pods.hint) == ("Pod", None)
    assert quotas.resource == "elasticquotas.v1alpha1.scheduling.x-k8s.io"
    assert quotas.hint is not None
    assert quotas.hint(pod, old, used) is Hint.SKIP
    assert quotas.hint(pod, old, quota("team-a", {"cpu": "9"})) is Hint.QUEUE
    assert quotas.hint(pod, None, old) is Hint.QUEUE
    assert quotas.hint(pod, old, None) is Hint.QUEUE


# --- large clusters -------------------------------------------------------------------------------


def test_large_clusters_do_not_name_every_node() -> None:
    """Up to a hundred nodes are named, as in the original; with more of them the message only counts."""
    pod = make_pod("p", namespace="team-a", cpu="9")
    few = Harness(nodes=[make_node(f"n{i}") for i in range(100)], objects=TEAMS, configuration=CONFIGURATION)
    many = Harness(nodes=[make_node(f"n{i}") for i in range(101)], objects=TEAMS, configuration=CONFIGURATION)

    assert "1 No victims found on node n99 for preemptor pod p" in few.decide(pod).message
    assert many.decide(pod).message.endswith("available: 101 No victims found for preemptor pod p.")
