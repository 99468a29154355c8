"""The heap: pods in the order of the QueueSort plugin, found and removed by key."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.queue.support import no_handle

from bayplan.framework import Plugin
from bayplan.plugins.priority_sort import PrioritySort
from bayplan.queue.heap import PodHeap, sort_key_of
from bayplan.queue.pod_info import QueuedPodInfo
from bayplan.testing import make_pod


class LessSort(Plugin):
    """The same order in the other form."""

    name = "LessSort"

    def less(self, first: QueuedPodInfo, second: QueuedPodInfo) -> bool:
        if first.pod.priority != second.pod.priority:
            return first.pod.priority > second.pod.priority
        return first.timestamp < second.timestamp


class BrokenSort(Plugin):
    name = "BrokenSort"

    def sort_key(self, pod_info: QueuedPodInfo) -> Any:
        return 1 // pod_info.pod.priority


class BrokenLess(Plugin):
    name = "BrokenLess"

    def less(self, first: QueuedPodInfo, second: QueuedPodInfo) -> bool:
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
    heap = PodHeap(sort_key_of(plugin(None, no_handle())))
    for each in (info("late", 5, 9.0), info("low", -1), info("early", 5, 8.0), info("plain", 0, 1.0)):
        heap.add(each)

    assert [each.pod.name for each in heap] == ["early", "late", "plain", "low"]
    assert drain(heap) == ["early", "late", "plain", "low"]


@pytest.mark.parametrize("plugin", [PrioritySort, LessSort, BrokenLess])
def test_equals_leave_in_the_order_they_came(plugin: type[Plugin]) -> None:
    """Also when the first of them was put in again, and where the plugin can tell no order at all."""
    heap = PodHeap(sort_key_of(plugin(None, no_handle())))
    first = info("a")
    for each in (first, info("b"), info("c"), first):
        heap.add(each)

    assert drain(heap) == ["a", "b", "c"]


def test_pod_without_a_key_goes_last() -> None:
    """A plugin that raises for one pod does not keep the others from being ordered."""
    heap = PodHeap(sort_key_of(BrokenSort(None, no_handle())))
    for each in (info("broken", 0), info("second", 1), info("first", 2)):
        heap.add(each)

    assert drain(heap) == ["first", "second", "broken"]


def test_changed_pod_is_put_where_it_belongs() -> None:
    heap = PodHeap(sort_key_of(PrioritySort(None, no_handle())))
    moved = info("moved", 0)
    for each in (moved, info("other", 1)):
        heap.add(each)
    moved.pod = make_pod("moved", priority=2)
    heap.add(moved)

    assert len(heap) == 2
    assert drain(heap) == ["moved", "other"]


@given(st.lists(st.tuples(st.sampled_from("+-^"), st.integers(0, 9), st.integers(-3, 3)), max_size=300))
def test_heap_equals_a_sorted_list(steps: list[tuple[str, int, int]]) -> None:
    """Whatever is added, removed and popped, dead entries never show."""
    heap = PodHeap(sort_key_of(PrioritySort(None, no_handle())))
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
        assert len(heap) == len(model)
        assert heap.get(key) is model.get(key)


def test_dead_entries_are_cleared_away() -> None:
    """A pod that is put in again and again does not make the heap grow."""
    heap = PodHeap(sort_key_of(PrioritySort(None, no_handle())))
    restless = info("restless")
    for number in range(1000):
        restless.timestamp = float(number)
        heap.add(restless)
        assert heap.n_entries <= 65
    heap.add(info("first", 1))

    assert drain(heap) == ["first", "restless"]


class GrowingSort(Plugin):
    """Pods go behind the others when they are told to."""

    name = "GrowingSort"

    def __init__(self) -> None:
        self.behind: set[str] = set()

    def sort_key(self, pod_info: QueuedPodInfo) -> tuple[bool, float]:
        return pod_info.pod.name in self.behind, pod_info.timestamp


def test_pod_whose_key_has_grown_goes_behind() -> None:
    """The pod that comes up is asked for its key again."""
    plugin = GrowingSort()
    heap = PodHeap(sort_key_of(plugin))
    for i, name in enumerate("abc"):
        heap.add(QueuedPodInfo(make_pod(name), float(i)))
    plugin.behind |= {"a", "b"}

    popped = [heap.pop() for _ in range(3)]
    assert [info.pod.name for info in popped if info is not None] == ["c", "a", "b"]
    assert heap.pop() is None
