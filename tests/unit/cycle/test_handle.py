"""The handle of a profile's plugins: what is connected, and what says that it is not."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.framework import CycleState, NodeInfo, Plugin
from bayplan.model import Pod
from bayplan.testing import Harness, make_node, make_pod


class Holding(Plugin):
    """Keeps its handle."""

    name = "Holding"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        return None


@pytest.fixture
def harness() -> Harness:
    return Harness(nodes=[make_node("a")], plugins=[Holding])


@pytest.fixture
def handle(harness: Harness) -> Any:
    return harness.profile().plugins.plugins["Holding"].handle


def test_handle_shows_the_scheduler(harness: Harness, handle: Any) -> None:
    """Profile, clock, snapshot, objects, nominations and evaluation are the scheduler's own."""
    scheduler = harness.scheduler
    assert handle.profile_name == "default-scheduler"
    assert handle.clock is harness.clock
    assert handle.snapshot.nodes.names.tolist() == ["a"]
    assert handle.informers is scheduler.objects
    assert handle.nominator is scheduler.nominator
    assert handle.evaluation is harness.profile().evaluation


@pytest.mark.parametrize(
    ("part", "method", "text"),
    [
        ("client", "bind", "this handle has no client: there is no cluster behind it"),
        ("recorder", "event", "this handle has no event recorder: there is no cluster behind it"),
        ("waiting_pods", "get", "this handle has no waiting pods: there is no cluster behind it"),
    ],
    ids=["client", "recorder", "waiting pods"],
)
def test_missing_parts_say_so(handle: Any, part: str, method: str, text: str) -> None:
    """A part that is not connected is an error that names it, not None."""
    with pytest.raises(RuntimeError, match=text):
        getattr(getattr(handle, part), method)


def test_activate_needs_a_queue(handle: Any) -> None:
    """Without a queue nobody can be activated; with one, it is told."""
    pod = make_pod("p")
    with pytest.raises(RuntimeError, match="this handle has no queue"):
        handle.activate([pod])
    told: list[Pod] = []
    handle.on_activate = told.extend
    handle.activate([pod])
    assert told == [pod]
