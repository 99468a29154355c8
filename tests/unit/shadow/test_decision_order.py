"""The order of decisions, from what the watches show."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.unit.shadow.shadowed import on

from bayplan.core.messages import CustomObjectChanged
from bayplan.explain.what_if_scheduler import ObjectChange
from bayplan.model import Node, Pod
from bayplan.shadow.decision_order import ClusterChange, DecisionOrder, is_placement
from bayplan.testing import make_node, make_pod

SCHEDULERS = frozenset({"default-scheduler"})


def pod(name: str, version: int, *, priority: int = 0, node: str = "", uid: str = "", tried: bool = False) -> Pod:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    made = make_pod(
        name,
        priority=priority,
        metadata={"resourceVersion": str(version), "uid": uid or name},
        status={"conditions": [condition]} if tried else None,
    )
    return on(made, node) if node else made


def versioned(node: Node, version: int) -> Node:
    return Node.from_dict({**node.raw, "metadata": {**node.raw["metadata"], "resourceVersion": str(version)}})


class Watches:
    """Changes as they come in, half a second apart."""

    def __init__(self) -> None:
        self.order = DecisionOrder(SCHEDULERS, settle_seconds=2)
        self.now = 0.0
        self._known: dict[str, Pod] = {}

    def show(self, *pods: Pod, is_new: bool = True) -> None:
        for each in pods:
            self.order.add(ObjectChange(self._known.get(each.key), each), self.now, is_new=is_new)
            self._known[each.key] = each
            self.now += 0.5


def placed(changes: Iterable[ClusterChange]) -> list[str]:
    """The names of the pods that were placed, in order."""
    return [
        change.new.name
        for change in changes
        if isinstance(change, ObjectChange) and is_placement(change) and change.new is not None
    ]


def test_a_bind_that_overtook_another_is_put_back() -> None:
    """Of two pods of one priority, the one that was created first was decided first."""
    watches = Watches()
    watches.show(pod("a", 1), pod("b", 2), pod("b", 3, node="n"), pod("a", 4, node="n"))

    assert placed(watches.order.flush()) == ["a", "b"]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(0, 10, ["b", "a"], id="a later pod of higher priority may be first"),
        pytest.param(10, 0, ["a", "b"], id="an earlier pod of higher priority is first"),
    ],
)
def test_priorities(first: int, second: int, expected: list[str]) -> None:
    """The queue is sorted by priority; where that leaves both orders open, the watch decides."""
    watches = Watches()
    watches.show(
        pod("a", 1, priority=first),
        pod("b", 2, priority=second),
        pod("b", 3, priority=second, node="n"),
        pod("a", 4, priority=first, node="n"),
    )

    assert placed(watches.order.flush()) == expected


def test_a_second_attempt_has_no_certain_place() -> None:
    """When a pod was queued again is not seen."""
    watches = Watches()
    watches.show(pod("a", 1), pod("a", 2, tried=True), pod("b", 3))
    watches.show(pod("b", 4, node="n"), pod("a", 5, node="n", tried=True))

    assert placed(watches.order.flush()) == ["b", "a"]


def test_pods_that_were_there_before_have_no_certain_place() -> None:
    watches = Watches()
    watches.show(pod("a", 1), pod("b", 2), is_new=False)
    watches.show(pod("b", 3, node="n"), pod("a", 4, node="n"))

    assert placed(watches.order.flush()) == ["b", "a"]


def test_changes_are_held_back_until_they_have_settled() -> None:
    watches = Watches()
    watches.show(pod("a", 1), pod("b", 2))  # seen at 0 and 0.5

    assert list(watches.order.due(1.9)) == []
    assert [
        change.new.name for change in watches.order.due(2.0) if isinstance(change, ObjectChange) and change.new
    ] == ["a"]
    assert watches.order.n_held_back == 1


def test_kinds_are_merged_by_resource_version() -> None:
    """Each kind has a watch of its own, and one may be late."""
    order = DecisionOrder(SCHEDULERS)
    order.add(ObjectChange(None, pod("p", 7)), 0)
    order.add(ObjectChange(None, versioned(make_node("n"), 5)), 0)
    order.add(
        CustomObjectChanged("example.com/v1", "foos", None, {"metadata": {"name": "f", "resourceVersion": "6"}}), 0
    )

    names = [
        change.new["metadata"]["name"] if isinstance(change, CustomObjectChanged) else change.new.name
        for change in order.flush()
        if change.new is not None
    ]
    assert names == ["n", "f", "p"]


def test_a_deletion_keeps_its_place_among_its_kind() -> None:
    """Its resourceVersion is not known."""
    order, first = DecisionOrder(SCHEDULERS), pod("a", 3)
    order.add(ObjectChange(None, first), 0)
    order.add(ObjectChange(first, None), 0)
    order.add(ObjectChange(None, pod("b", 4)), 0)

    assert [(change.old is not None, change.new is not None) for change in order.flush()] == [
        (False, True),
        (True, False),
        (False, True),
    ]


def test_an_older_form_does_not_follow_the_placement() -> None:
    """A pod whose placement came before its turn stays placed."""
    watches = Watches()
    watches.show(pod("a", 1), pod("b", 2), pod("b", 3, node="n"))
    watches.show(pod("a", 4), pod("a", 5, node="n"))  # a label was changed meanwhile

    changes = list(watches.order.flush())

    assert placed(changes) == ["a", "b"]
    last = [change.new for change in changes if isinstance(change, ObjectChange) and change.new is not None]
    assert [each.node_name for each in last if isinstance(each, Pod) and each.name == "a"] == ["", "n"]
