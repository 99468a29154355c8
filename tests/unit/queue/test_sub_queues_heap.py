"""PodHeap: pods in the order of the QueueSort plugin, found and removed by key."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.queue.support import no_handle

from bayplan.framework import Plugin, QueuedPod
from bayplan.plugins.queueing.priority_sort import PrioritySort
from bayplan.queue.pod_info import QueuedPodInfo
from bayplan.queue.sub_queues import PodHeap, order_of
from bayplan.testing import make_pod


class LessSort(Plugin):
    """The same order in the other form."""

    name = "LessSort"

    def less(self, first: QueuedPod, second: QueuedPod) -> bool:
        if first.pod.priority != second.pod.priority:
            return first.pod.priority > second.pod.priority
        return first.timestamp < second.timestamp


class BrokenSort(Plugin):
    name = "BrokenSort"

    def sort_key(self, pod_info: QueuedPod) -> Any:
        return 1 // pod_info.pod.priority


class BrokenLess(Plugin):
    name = "BrokenLess"

    def less(self, first: QueuedPod, second: QueuedPod) -> bool:
        raise ValueError("no order")


def info(name: str, priority: int = 0, timestamp: float = 0.0) -> QueuedPodInfo:
    return QueuedPodInfo(make_pod(name, priority=priority), timestamp)


def drain(heap: PodHeap) -> list[str]:
    names = []
    while (popped := heap.pop()) is not None:
        names.append(popped.pod.name)
        assert not list(heap.problems())
    return names


@pytest.mark.parametrize("plugin", [PrioritySort, LessSort])
def test_both_forms_of_a_plugin_order_alike(plugin: type[Plugin]) -> None:
    heap = PodHeap(order_of(plugin(None, no_handle())))
    for each in (info("late", 5, 9.0), info("low", -1), info("early", 5, 8.0), info("plain", 0, 1.0)):
        heap.add(each)

    assert [each.pod.name for each in heap] == ["early", "late", "plain", "low"]
    assert drain(heap) == ["early", "late", "plain", "low"]


@pytest.mark.parametrize("plugin", [PrioritySort, LessSort, BrokenLess])
def test_equals_leave_in_the_order_they_came(plugin: type[Plugin]) -> None:
    """Also when the first of them is added again, and when the plugin always raises."""
    heap = PodHeap(order_of(plugin(None, no_handle())))
    first = info("a")
    for each in (first, info("b"), info("c"), first):
        heap.add(each)

    assert drain(heap) == ["a", "b", "c"]


def test_pod_without_a_key_goes_last() -> None:
    """A plugin that raises for one pod does not keep the others from being ordered."""
    heap = PodHeap(order_of(BrokenSort(None, no_handle())))
    for each in (info("broken", 0), info("second", 1), info("first", 2)):
        heap.add(each)

    assert drain(heap) == ["first", "second", "broken"]


def test_changed_pod_is_put_where_it_belongs() -> None:
    heap = PodHeap(order_of(PrioritySort(None, no_handle())))
    moved = info("moved", 0)
    for each in (moved, info("other", 1)):
        heap.add(each)
    moved.pod = make_pod("moved", priority=2)
    heap.add(moved)

    assert len(heap.entries) == 2
    assert drain(heap) == ["moved", "other"]


@given(st.lists(st.tuples(st.sampled_from("+-^"), st.integers(0, 9), st.integers(-3, 3)), max_size=300))
def test_heap_equals_a_sorted_list(steps: list[tuple[str, int, int]]) -> None:
    """Dead entries never show, whatever is added, removed and popped."""
    heap = PodHeap(order_of(PrioritySort(None, no_handle())))
    model: dict[str, QueuedPodInfo] = {}
    for number, (step, pod, priority) in enumerate(steps):
        key = f"default/{pod}"
        if step == "+":
            model[key] = info(str(pod), priority, float(number))
            heap.add(model[key])
        elif step == "-":
            assert heap.remove(key) is model.pop(key, None)
        else:
            first = min(model.values(), key=lambda each: (-each.pod.priority, each.timestamp), default=None)
            assert heap.pop() is first
            if first is not None:
                del model[first.key]
        assert not list(heap.problems())
        assert len(heap.entries) == len(model)
        assert heap.get(key) is model.get(key)


def test_dead_entries_are_dropped() -> None:
    """A pod that is added again and again does not make the heap grow."""
    heap = PodHeap(order_of(PrioritySort(None, no_handle())))
    restless = info("restless")
    for number in range(1000):
        restless.timestamp = float(number)
        heap.add(restless)
        assert len(heap._heap) <= 65
    heap.add(info("first", 1))

    assert drain(heap) == ["first", "restless"]


class GrowingSort(Plugin):
    """Pods in `behind` go behind the others."""

    name = "GrowingSort"

    def __init__(self) -> None:
        self.behind: set[str] = set()

    def sort_key(self, pod_info: QueuedPod) -> tuple[bool, float]:
        return pod_info.pod.name in self.behind, pod_info.timestamp


def test_pod_whose_key_has_grown_goes_behind() -> None:
    """The key of the pod at the top is computed again."""
    plugin = GrowingSort()
    heap = PodHeap(order_of(plugin))
    for i, name in enumerate("abc"):
        heap.add(QueuedPodInfo(make_pod(name), float(i)))
    plugin.behind |= {"a", "b"}

    popped = [heap.pop() for _ in range(3)]
    assert [info.pod.name for info in popped if info is not None] == ["c", "a", "b"]
    assert heap.pop() is None


class LabelSort(Plugin):
    """By whatever *value* makes of the pod's label `deadline`."""

    name = "LabelSort"

    def __init__(self, value: Callable[[str | None], Any]) -> None:
        super().__init__(None, no_handle())
        self._value = value

    def sort_key(self, pod_info: QueuedPod) -> Any:
        return self._value(pod_info.pod.labels.get("deadline"))


class Quarrelsome:
    """Cannot be compared with anything."""

    def __lt__(self, other: object) -> bool:
        raise SystemExit(3)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(lambda text: None if text is None else int(text), id="None beside int"),
        pytest.param(lambda text: 0.5 if text is None else text, id="text beside number"),
        pytest.param(lambda text: np.array([0, 1]) if text is None else np.array([1, 0]), id="arrays"),
        pytest.param(lambda text: {"deadline": text}, id="dictionaries"),
        pytest.param(lambda text: Quarrelsome(), id="comparison exits"),
    ],
)
def test_keys_that_cannot_be_compared_strand_no_pod(
    value: Callable[[str | None], Any], caplog: pytest.LogCaptureFixture
) -> None:
    """The log names the plugin and the pod, and the pods leave in the order of PrioritySort."""
    heap = PodHeap(order_of(LabelSort(value)))
    plain = [("plain-late", 0, 4.0), ("plain-early", 0, 1.0)]
    dated = [("dated-urgent", 9, 3.0), ("dated", 0, 2.0)]
    for (name, priority, timestamp), labels in zip(
        [*plain, *dated], [{}, {}, {"deadline": "7"}, {"deadline": "5"}], strict=True
    ):
        heap.add(QueuedPodInfo(make_pod(name, priority=priority, labels=labels), timestamp))
        assert [each.key for each in heap]  # can be shown at any time

    assert drain(heap) == ["dated-urgent", "plain-early", "dated", "plain-late"]
    assert "Sort keys cannot be compared" in caplog.text
    assert "plugin=LabelSort point=QueueSort pod=default/" in caplog.text


def test_order_of_the_plugin_returns_when_the_queue_was_empty() -> None:
    """One pod that cannot be compared does not cost the order for good."""
    heap = PodHeap(order_of(LabelSort(lambda text: None if text is None else int(text))))
    for each in (info("plain", 0, 1.0), QueuedPodInfo(make_pod("dated", labels={"deadline": "5"}), 2.0)):
        heap.add(each)
    assert drain(heap) == ["plain", "dated"]

    for name, deadline, timestamp in (("late", "9", 1.0), ("early", "5", 2.0)):
        heap.add(QueuedPodInfo(make_pod(name, labels={"deadline": deadline}), timestamp))
    assert drain(heap) == ["early", "late"]


@pytest.mark.parametrize("key", [float, lambda text: (0, float(text))], ids=["number", "part of a tuple"])
def test_a_key_that_is_not_a_number_goes_last(key: Callable[[str], Any], caplog: pytest.LogCaptureFixture) -> None:
    """`float` reads "nan" in a label, which is before no number and behind none: the others keep their order."""
    heap = PodHeap(order_of(LabelSort(lambda text: key(text or "0"))))
    for name, deadline in (("e", "5"), ("nan", "nan"), ("a", "1"), ("d", "4"), ("b", "2"), ("c", "3")):
        heap.add(QueuedPodInfo(make_pod(name, labels={"deadline": deadline}), 1.0))
    assert drain_unordered(heap) == ["a", "b", "c", "d", "e", "nan"]
    assert "Plugin raised: plugin=LabelSort point=QueueSort pod=default/nan" in caplog.text
    assert "NaN has no place in an order" in caplog.text


_NUMBERS = itertools.count()


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(lambda text: float("nan"), id="not a number"),
        pytest.param(lambda text: next(_NUMBERS), id="grows with every call"),
    ],
)
def test_keys_that_never_settle_do_not_hang_the_queue(value: Callable[[str | None], Any]) -> None:
    heap = PodHeap(order_of(LabelSort(value)))
    for name in "abc":
        heap.add(info(name))
    assert sorted(drain_unordered(heap)) == ["a", "b", "c"]


def drain_unordered(heap: PodHeap) -> list[str]:
    names = []
    while (popped := heap.pop()) is not None:
        names.append(popped.pod.name)
    return names


def test_an_order_that_cannot_be_compared_takes_over() -> None:
    """At a reload, when pods wait already."""
    heap = PodHeap(order_of(PrioritySort(None, no_handle())))
    for each in (info("low", 1, 1.0), QueuedPodInfo(make_pod("high", priority=2, labels={"deadline": "5"}), 2.0)):
        heap.add(each)
    heap.sort_by(order_of(LabelSort(lambda text: text)))
    assert drain(heap) == ["high", "low"]
