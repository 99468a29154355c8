"""The nominator: which pods were promised which node."""

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


def test_promise_is_found_both_ways(nominator: PodNominator) -> None:
    """By node and by pod, in the order of the promises."""
    first, second = make_pod("first"), make_pod("second")
    nominator.add(first, "a")
    nominator.add(second, "a")
    assert (names(nominator, "a"), nominator.node_of(first), list(nominator.nodes())) == (
        ["first", "second"],
        "a",
        ["a"],
    )
    assert (names(nominator, "b"), nominator.node_of(make_pod("other"))) == ([], "")


def test_later_promise_replaces_the_first(nominator: PodNominator) -> None:
    """A pod is promised one node at a time."""
    pod = make_pod("p")
    nominator.add(pod, "a")
    nominator.add(pod, "b")
    assert (names(nominator, "a"), names(nominator, "b"), list(nominator.nodes())) == ([], ["p"], ["b"])


def test_promise_is_withdrawn(nominator: PodNominator) -> None:
    """A node without promises is not listed; withdrawing twice is no mistake."""
    pod, other = make_pod("p"), make_pod("other")
    nominator.add(pod, "a")
    nominator.add(other, "a")
    nominator.remove(pod)
    nominator.remove(pod)
    assert (names(nominator, "a"), nominator.node_of(pod)) == (["other"], "")
    nominator.remove(other)
    assert list(nominator.nodes()) == []


def test_answers_do_not_change_later(nominator: PodNominator) -> None:
    """Who asked may go on while promises are withdrawn."""
    nominator.add(pod := make_pod("p"), "a")
    nodes, pods = nominator.nodes(), nominator.nominated("a")
    nominator.remove(pod)
    assert (list(nodes), [each.name for each in pods]) == (["a"], ["p"])


def test_promise_is_read_from_the_status(nominator: PodNominator) -> None:
    """The pod's status says which node; none there withdraws the promise."""
    pod = make_pod("p")
    nominator.read(with_nomination(pod, "a"))
    assert names(nominator, "a") == ["p"]
    nominator.read(pod)
    assert names(nominator, "a") == []


@pytest.mark.parametrize(
    ("promised", "before", "after", "expected"),
    [
        ("a", "", "", "a"),
        ("a", "", "b", "b"),
        ("a", "a", "", ""),
        ("a", "a", "b", "b"),
        ("", "", "b", "b"),
        ("", "", "", ""),
    ],
    ids=[
        "promised here, not heard of yet",
        "promised here, another node there",
        "withdrawn there",
        "changed there",
        "promised there",
        "never promised",
    ],
)
def test_promise_of_a_changed_pod(
    nominator: PodNominator, promised: str, before: str, after: str, expected: str
) -> None:
    """The status counts, unless it says nothing and never has."""
    pod = make_pod("p")
    if promised:
        nominator.add(pod, promised)
    new = with_nomination(pod, after)
    nominator.update(with_nomination(pod, before), new)
    assert nominator.node_of(pod) == expected
    assert [each for node in nominator.nodes() for each in nominator.nominated(node)] == (
        [new] if expected else []
    )


def test_what_was_taken_back_is_shown_late(nominator: PodNominator) -> None:
    """A pod that gave its place back is not nominated there when the watch shows that it was; a new promise is."""
    pod = make_pod("p")
    nominator.take_back(pod, "a")
    shown = with_nomination(pod, "a")

    nominator.update(pod, shown)
    assert (nominator.node_of(pod), nominator.is_taken_back(shown)) == ("", True)
    nominator.update(shown, pod)
    nominator.update(pod, shown)
    assert (nominator.node_of(pod), nominator.is_taken_back(shown)) == ("a", False)


@pytest.mark.parametrize("is_gone", [False, True], ids=["tried again", "gone"])
def test_what_was_taken_back_stays_so_until_it_is_shown(nominator: PodNominator, is_gone: bool) -> None:
    """A pod that is tried again before the watch has shown it is still not nominated; one that is gone is
    forgotten."""
    pod = make_pod("p")
    nominator.take_back(pod, "a")
    (nominator.forget if is_gone else nominator.remove)(pod)

    assert nominator.is_taken_back(with_nomination(pod, "a")) is not is_gone


def test_another_promise_than_the_one_taken_back(nominator: PodNominator) -> None:
    """Only that one is old."""
    pod = make_pod("p")
    nominator.take_back(pod, "a")
    nominator.update(pod, with_nomination(pod, "b"))

    assert nominator.node_of(pod) == "b"
