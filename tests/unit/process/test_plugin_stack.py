"""What a stack tells about the plugin that a thread is in."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from bayplan.framework import Plugin, Status
from bayplan.process.plugin_stack import describe_stack, find_call, is_in_plugin
from bayplan.testing import Harness, make_node, make_pod
from bayplan.version import IS_COMPILED

SEEN: list[FrameType] = []


def here() -> None:
    SEEN.append(sys._getframe())


class Told:
    """Says where it is asked for its text, which Bayplan's own code does."""

    def __str__(self) -> str:
        here()
        return "told"


class Helped(Plugin):
    """Filter asks a method of its own, which asks a function."""

    name = "Helped"

    def filter(self, state: Any, pod: Any, node: Any) -> None:
        self._look(sorted)

    def _look(self, sort: Callable[..., Any]) -> None:
        sort([1], key=lambda _: here())


class Telling(Plugin):
    name = "Telling"

    def filter(self, state: Any, pod: Any, node: Any) -> Status:
        Status.failed(Told())  # type: ignore[arg-type]
        return Status.unschedulable("no")


class Sorting(Plugin):
    name = "Sorting"

    def sort_key(self, pod_info: Any) -> int:
        here()
        return 0


@pytest.fixture(autouse=True)
def _forget() -> None:
    SEEN.clear()


def test_the_method_of_the_contract_is_named() -> None:
    """Not the helper that it has called, nor the library."""
    Harness(nodes=[make_node("a")], plugins=[Helped]).decide(make_pod("p"))
    call = find_call(SEEN[0])
    assert call is not None
    assert str(call) == "plugin=Helped point=Filter pod=default/p"
    assert is_in_plugin(SEEN[0])


def test_the_stack_begins_in_the_plugin() -> None:
    Harness(nodes=[make_node("a")], plugins=[Helped]).decide(make_pod("p"))
    told = describe_stack(SEEN[0])
    assert told.splitlines()[0].endswith("in filter")
    assert "in here" in told
    assert "schedule_one.py" not in told


@pytest.mark.skipif(
    IS_COMPILED, reason="machine code has no frames: what it calls back looks called by the plugin"
)
def test_our_code_that_a_plugin_has_called_is_not_the_plugin() -> None:
    """It is named all the same, but it is not to be interrupted there."""
    Harness(nodes=[make_node("a")], plugins=[Telling]).decide(make_pod("p"))
    call = find_call(SEEN[0])
    assert call is not None
    assert call.plugin.name == "Telling"
    assert not is_in_plugin(SEEN[0])


def test_a_stack_without_a_plugin() -> None:
    here()
    assert find_call(SEEN[0]) is None
    assert not is_in_plugin(SEEN[0])
    assert "in here" in describe_stack(SEEN[0])


def test_shipped_plugins_can_be_left_out() -> None:
    """Their calls are not limited."""
    from bayplan.plugins.queueing.priority_sort import PrioritySort

    class Looking:
        @property
        def pod(self) -> Any:
            here()
            return make_pod("p")

        timestamp = 0.0

    PrioritySort(None, None).sort_key(Looking())  # type: ignore[arg-type]
    assert find_call(SEEN[0]) is not None
    assert find_call(SEEN[0], shipped=False) is None
