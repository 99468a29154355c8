"""The nominator: which pods are nominated to which node."""

from __future__ import annotations

import pytest

from bayplan.model import Pod
from bayplan.queue import PodNominator
from bayplan.testing import make_pod


@pytest.fixture
def nominator() -> PodNominator:
    return PodNominator()


def names(nominator: PodNominator, node: str) -> list[str]:
    return [pod.name for pod in nominator.nominated(node)]


def with_nomination(pod: Pod, node: str) -> Pod:
    """The pod as the API server has it, with a node in its status."""
    return make_pod(pod.name, metadata={"uid": pod.uid}, status={"nominatedNodeName": node})


def test_nomination_is_found_both_ways(nominator: PodNominator) -> None:
    """By node and by pod, in the order in which the pods were nominated."""
    first, second = make_pod("first"), make_pod("second")
    nominator.add(first, "a")
    nominator.add(second, "a")
    assert (names(nominator, "a"), nominator.node_of(first), list(nominator.nodes())) == (
        ["first", "second"],
        "a",
        ["a"],
    )
    assert (names(nominator, "b"), nominator.node_of(make_pod("other"))) == ([], "")


def test_later_nomination_replaces_the_first(nominator: PodNominator) -> None:
    """A pod is nominated to one node at a time."""
    pod = make_pod("p")
    nominator.add(pod, "a")
    nominator.add(pod, "b")
    assert (names(nominator, "a"), names(nominator, "b"), list(nominator.nodes())) == ([], ["p"], ["b"])


def test_nomination_is_withdrawn(nominator: PodNominator) -> None:
    """A node without nominated pods is not listed; withdrawing twice is allowed."""
    pod, other = make_pod("p"), make_pod("other")
    nominator.add(pod, "a")
    nominator.add(other, "a")
    nominator.remove(pod)
    nominator.remove(pod)
    assert (names(nominator, "a"), nominator.node_of(pod)) == (["other"], "")
    nominator.remove(other)
    assert list(nominator.nodes()) == []


def test_results_do_not_change_later(nominator: PodNominator) -> None:
    """Callers may iterate over them while nominations are withdrawn."""
    nominator.add(pod := make_pod("p"), "a")
    nodes, pods = nominator.nodes(), nominator.nominated("a")
    nominator.remove(pod)
    assert (list(nodes), [each.name for each in pods]) == (["a"], ["p"])


def test_nomination_is_read_from_the_status(nominator: PodNominator) -> None:
    """The status has the node; without one there, the nomination is withdrawn."""
    pod = make_pod("p")
    nominator.read(with_nomination(pod, "a"))
    assert names(nominator, "a") == ["p"]
    nominator.read(pod)
    assert names(nominator, "a") == []


@pytest.mark.parametrize(
    ("nominated", "before", "after", "expected"),
    [
        ("a", "", "", "a"),
        ("a", "", "b", "b"),
        ("a", "a", "", ""),
        ("a", "a", "b", "b"),
        ("", "", "b", "b"),
        ("", "", "", ""),
    ],
    ids=[
        "nominated here, not in the status yet",
        "nominated here, another node in the status",
        "withdrawn in the status",
        "changed in the status",
        "nominated in the status",
        "never nominated",
    ],
)
def test_nomination_of_a_changed_pod(
    nominator: PodNominator, nominated: str, before: str, after: str, expected: str
) -> None:
    """The status decides, unless it has no node and never had one."""
    pod = make_pod("p")
    if nominated:
        nominator.add(pod, nominated)
    new = with_nomination(pod, after)
    nominator.update(with_nomination(pod, before), new)
    assert nominator.node_of(pod) == expected
    assert [each for node in nominator.nodes() for each in nominator.nominated(node)] == (
        [new] if expected else []
    )


def test_withdrawn_nomination_is_ignored_in_the_status(nominator: PodNominator) -> None:
    """The watch may show it late. Once the status was without it, the same node is a new nomination."""
    pod = make_pod("p")
    nominator.withdraw(pod, "a")
    shown = with_nomination(pod, "a")

    nominator.update(pod, shown)
    assert (nominator.node_of(pod), nominator.is_withdrawn(shown)) == ("", True)
    nominator.update(shown, pod)
    nominator.update(pod, shown)
    assert (nominator.node_of(pod), nominator.is_withdrawn(shown)) == ("a", False)


@pytest.mark.parametrize("is_deleted", [False, True], ids=["retried", "deleted"])
def test_withdrawn_nomination_is_remembered_until_shown(nominator: PodNominator, is_deleted: bool) -> None:
    """Also while the pod is retried; a deleted pod is forgotten."""
    pod = make_pod("p")
    nominator.withdraw(pod, "a")
    (nominator.forget if is_deleted else nominator.remove)(pod)

    assert nominator.is_withdrawn(with_nomination(pod, "a")) is not is_deleted


def test_another_nomination_than_the_withdrawn_one(nominator: PodNominator) -> None:
    """Only the withdrawn node is ignored."""
    pod = make_pod("p")
    nominator.withdraw(pod, "a")
    nominator.update(pod, with_nomination(pod, "b"))

    assert nominator.node_of(pod) == "b"


def test_without_nominated_pods_the_dicts_are_empty(nominator: PodNominator) -> None:
    """So callers can skip their work without a call."""
    assert not nominator.by_node
    nominator.add(pod := make_pod("p"), "a")
    assert nominator.by_node == {"a": {pod.uid: pod}}
    assert nominator.node_by_pod == {pod.uid: "a"}
    nominator.remove(pod)
    assert not nominator.by_node
    assert not nominator.node_by_pod


@pytest.mark.parametrize(
    ("in_status", "nominate", "announced", "node"),
    [
        pytest.param("", "b", "", "b", id="preemption found another node"),
        pytest.param("", "", "", "", id="nothing can be evicted"),
        pytest.param("", None, "", "a", id="an error says nothing about the nomination"),
        pytest.param("c", None, "", "c", id="an error leaves what the status has"),
        pytest.param("a", "", "a", "", id="the bind to the announced node failed"),
    ],
)
def test_nomination_after_a_failed_attempt(
    nominator: PodNominator, in_status: str, nominate: str | None, announced: str, node: str
) -> None:
    """Of a pod that was nominated to node a before."""
    pod = with_nomination(make_pod("p"), in_status)
    nominator.add(pod, "a")
    nominator.after_failure(pod, nominate, announced)
    assert nominator.node_of(pod) == node
    assert nominator.is_withdrawn(pod) == bool(announced)
