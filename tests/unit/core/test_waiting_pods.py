"""Waiting pods: deadlines, decisions, and the one decision that counts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bayplan.core.waiting_pods import ANNOUNCE_SECONDS, WaitingPod, WaitingPods
from bayplan.testing import VirtualClock, make_pod


class Room:
    """Pods that wait, and the decisions about them."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.decided: list[str] = []
        self.pods = WaitingPods(self.clock, lambda waiting: self.decided.append(waiting.pod.name))

    def add(self, name: str, **waits: float) -> WaitingPod:
        assumed: Any = SimpleNamespace(pod=make_pod(name, metadata={"uid": name}), node_name="a")
        self.pods.add(assumed, SimpleNamespace(), waits)  # type: ignore[arg-type]
        waiting = self.pods.get(name)
        assert waiting is not None
        return waiting


def test_every_plugin_must_allow() -> None:
    room = Room()
    waiting = room.add("p", A=10, B=10)
    waiting.allow("A")
    assert (room.decided, waiting.pending_plugins) == ([], ("B",))
    waiting.allow("B")
    waiting.allow("B")
    assert room.decided == ["p"]
    assert not waiting.is_leaving


def test_a_wait_for_nobody_is_over_at_once() -> None:
    room = Room()
    room.add("p")
    assert room.decided == ["p"]


def test_the_first_deadline_rejects() -> None:
    room = Room()
    waiting = room.add("p", Slow=100, Quick=2)
    assert room.pods.next_deadline() == room.clock.now() + ANNOUNCE_SECONDS
    room.clock.advance(1)
    assert room.pods.expire() == [waiting]
    assert room.pods.next_deadline() == pytest.approx(room.clock.now() + 1)
    room.clock.advance(1)
    assert room.pods.expire() == []
    assert waiting.status is not None
    assert waiting.status.message == "rejected due to timeout after waiting 2s at plugin Quick"
    assert (waiting.is_leaving, room.decided) == (True, ["p"])


def test_a_decided_pod_is_listed_until_removed() -> None:
    """Its resources are still taken, but it has no deadline any more."""
    room = Room()
    waiting = room.add("p", A=1)
    room.add("q", A=5)
    waiting.reject("A", "no")
    assert [each.pod.name for each in room.pods] == ["p", "q"]
    room.clock.advance(3)
    assert room.pods.remove(waiting) == 3
    assert (len(room.pods), room.pods.get("p")) == (1, None)


def test_nobody_waits() -> None:
    room = Room()
    assert room.pods.next_deadline() is None
    assert room.pods.expire() == []
