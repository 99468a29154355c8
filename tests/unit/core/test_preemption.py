"""Preemptions under way: who is held back, and what leaves the core."""

from __future__ import annotations

import pytest
from tests.unit.core.driver import Driver, only

from bayplan.core.messages import ObjectChanged, OneVictimLeft, PreemptionEnded, StartPreemption
from bayplan.framework import Status
from bayplan.model import Pod
from bayplan.testing import make_pod

PREEMPTOR = make_pod("vip", priority=10, metadata={"uid": "vip-uid"})
LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def start(driver: Driver, *victims: Pod) -> StartPreemption | None:
    driver.core.preemptions.start(PREEMPTOR, "a", victims, "default-scheduler")
    instructions = list(driver.core.take_instructions())
    return only(StartPreemption, instructions) if instructions else None


def test_the_preemptor_is_held_back_until_the_last_victim_leaves() -> None:
    driver = Driver()
    first, last = make_pod("v1", node_name="a"), make_pod("v2", node_name="a")
    driver.add(first, last)
    instruction = start(driver, first, last)
    assert instruction is not None
    preemptions = driver.core.preemptions
    assert preemptions.is_running(PREEMPTOR)
    assert not preemptions.is_running(make_pod("other"))

    driver.core.handle(OneVictimLeft(instruction.preemption))
    assert preemptions.is_running(PREEMPTOR)
    driver.core.handle(ObjectChanged(last, make_pod("v2", node_name="a", metadata=LEAVING)))
    assert not preemptions.is_running(PREEMPTOR)


@pytest.mark.parametrize("awaits_deletion", [True, False], ids=["the deletion will be seen", "it may be missed"])
def test_the_preemptor_is_activated_if_no_event_would_try_it(awaits_deletion: bool) -> None:
    driver = Driver(filter=Status.unschedulable("no"))
    driver.schedule(PREEMPTOR)
    instruction = start(driver, make_pod("v", node_name="a"))
    assert instruction is not None

    driver.core.handle(PreemptionEnded(instruction.preemption, awaits_deletion))

    assert not driver.core.preemptions.is_running(PREEMPTOR)
    assert (driver.core.schedule_one() is None) == awaits_deletion


def test_victims_that_are_leaving_are_left_alone() -> None:
    """A pod that is being deleted, or was rejected while it waited, needs no eviction."""
    driver = Driver(permit=Status.wait(timeout_seconds=60))
    waiting = make_pod("w", metadata={"uid": "w"})
    driver.schedule(waiting)
    held = driver.core.waiting_pods.get("w")
    assert held is not None
    held.reject("Gang", "others found no node")
    driver.core.take_instructions()

    assert start(driver, waiting, make_pod("v", metadata=LEAVING)) is None
    assert not driver.core.preemptions.is_running(PREEMPTOR)


def test_pods_of_lower_priority_lose_their_nomination() -> None:
    driver = Driver()
    low, high = make_pod("low", priority=1), make_pod("high", priority=20)
    driver.core.nominator.add(low, "a")
    driver.core.nominator.add(high, "a")

    instruction = start(driver, make_pod("v", node_name="a"))

    assert instruction is not None
    assert [pod.name for pod in instruction.preemption.outranked] == ["low"]
    assert [pod.name for pod in driver.core.nominator.nominated("a")] == ["high"]
