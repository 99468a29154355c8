"""A failed attempt puts the pod back, keeps or withdraws its nomination, and tells the world once."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.cycle.failure import Failure, FailureHandler
from bayplan.framework import Status
from bayplan.model import Pod
from bayplan.queue import PodNominator
from bayplan.queue.pod_info import QueuedPodInfo
from bayplan.testing import make_pod


class World:
    """The queue, the recorder and the API server; `current` is the pod as the watch shows it."""

    def __init__(self, current: Pod | None) -> None:
        self.current = current
        self.log: list[str] = []

    def add_unschedulable(self, info: QueuedPodInfo) -> None:
        self.log.append(f"queued {info.pod.name} {sorted(info.unschedulable_plugins)}")

    def done(self, uid: str) -> None:
        self.log.append("done")

    def event(
        self, regarding: Any, *, kind: str, reason: str, action: str, note: str, related: Any = None
    ) -> None:
        self.log.append(f"{kind} {reason} {action}: {note}")

    def write_status(self, pod: Pod, *, failure: Failure) -> None:
        self.log.append(f"{failure.reason}: {failure.message}")


POD = make_pod("p", metadata={"uid": "u"})
FAILURE = Failure(Status.unschedulable("x"), "0/1 nodes are available: 1 x.", frozenset({"Fit"}))


def handle(world: World, failure: Failure = FAILURE, nominator: PodNominator | None = None) -> None:
    handler = FailureHandler(world, nominator or PodNominator(), world, world, lambda pod: world.current)
    handler.handle(QueuedPodInfo(POD, 0.0), failure)


def test_pod_goes_back_to_the_queue() -> None:
    """Queued with the plugins that rejected it; one event; one condition."""
    world = World(POD)
    handle(world)
    assert world.log == [
        "queued p ['Fit']",
        "Warning FailedScheduling Scheduling: 0/1 nodes are available: 1 x.",
        "Unschedulable: 0/1 nodes are available: 1 x.",
    ]


@pytest.mark.parametrize(
    "current",
    [None, make_pod("p", node_name="a", metadata={"uid": "u"}), make_pod("p", metadata={"uid": "another"})],
    ids=["deleted", "bound meanwhile", "replaced by another of the name"],
)
def test_pod_that_is_not_there_any_more(current: Pod | None) -> None:
    """Nothing is said about a pod that is gone, bound, or another one by now."""
    world = World(current)
    handle(world)
    assert world.log == ["done"]


@pytest.mark.parametrize(("nominate", "expected"), [("b", "b"), ("", ""), (None, "a")])
def test_nomination_follows_the_failure(nominate: str | None, expected: str) -> None:
    """A node is promised, the promise withdrawn, or left as it was."""
    nominator = PodNominator()
    nominator.add(POD, "a")
    handle(World(POD), Failure(Status.unschedulable("x"), "x", nominate=nominate), nominator)
    assert nominator.node_of(POD) == expected
