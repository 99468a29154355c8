"""The core as a whole: attempts that wait for extenders, deferred inputs, time, plugins that act by themselves."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.core.driver import Driver, Heard, only, told
from tests.unit.core.extenders import FakeExtender

from bayplan.core.messages import (
    AskExtenders,
    BindingFailed,
    CustomObjectChanged,
    ExtendersAnswered,
    ObjectChanged,
    PodBound,
    RecordEvent,
    StartBinding,
)
from bayplan.core.scheduler_core import SchedulerCore
from bayplan.framework import Status
from bayplan.framework.extenders import ExtenderError, FilterResponse
from bayplan.model import Service
from bayplan.testing import Harness, make_node, make_pod

EXTENDER = FakeExtender(on_filter=lambda names: FilterResponse(tuple(names)))


def suspended(**options: Any) -> Driver:
    """A core of two nodes whose attempt at a pod waits for an extender; its question is still to be taken."""
    driver = Driver(nodes="ab")
    core = driver.core
    driver.core = SchedulerCore(
        driver.loaded, driver.registry, clock=driver.clock, extenders=[EXTENDER], seed=0, **options
    )
    for name in core.cache.snapshot().nodes.names.tolist():
        driver.core.handle(ObjectChanged(None, make_node(name, cpu="4")))
    driver.add(make_pod("p", cpu="1", metadata={"uid": "u"}))
    assert driver.core.schedule_one() is not None
    assert driver.core.is_suspended
    return driver


def test_an_attempt_waits_for_extenders() -> None:
    """The question is plain data; no other pod is tried until it is answered."""
    driver = suspended()
    driver.add(make_pod("other"))

    (call,) = only(AskExtenders, list(driver.core.take_instructions())).calls
    assert (call.extender, call.verb, call.pod.name) == (EXTENDER, "filter", "p")
    assert call.argument.names.tolist() == ["a", "b"]
    assert driver.core.schedule_one() is None

    driver.core.handle(ExtendersAnswered([FilterResponse(("b",))]))
    assert only(StartBinding, list(driver.core.take_instructions())).assumed.node_name == "b"
    assert driver.core.schedule_one() is not None


def test_a_failing_extender_fails_the_attempt() -> None:
    driver = suspended()
    driver.core.take_instructions()

    driver.core.handle(ExtendersAnswered([ExtenderError("refused")]))

    assert told(list(driver.core.take_instructions()))[0] == ("FailedScheduling", "refused")
    assert not driver.core.is_suspended


def test_a_bug_in_an_extender_client_fails_the_attempt() -> None:
    driver = suspended()
    driver.core.take_instructions()

    driver.core.handle(ExtendersAnswered([ZeroDivisionError("oops")]))

    assert told(list(driver.core.take_instructions()))[0] == ("FailedScheduling", "ZeroDivisionError: oops")


def test_the_cluster_does_not_change_under_a_suspended_attempt() -> None:
    """Changes are deferred, in order, and all of them have happened afterwards."""
    driver = suspended()
    core = driver.core
    core.take_instructions()
    core.handle(ObjectChanged(make_node("a", cpu="4"), None))
    core.handle(ObjectChanged(None, make_node("c", cpu="4")))
    core.handle(ObjectChanged(make_node("c", cpu="4"), make_node("c", cpu="8")))
    assert core.cache.snapshot().nodes.names.tolist() == ["a", "b"]

    core.handle(ExtendersAnswered([FilterResponse(("a",))]))

    assert sorted(core.cache.snapshot().nodes.names.tolist()) == ["b", "c"]
    node = core.cache.node("c")
    assert node is not None
    assert node.status.allocatable["cpu"] == "8"


def test_one_deferred_input_that_fails_does_not_cost_the_others() -> None:
    driver = suspended()
    driver.core.take_instructions()
    broken: Any = ObjectChanged(None, "not an object")  # type: ignore[arg-type]
    driver.core.handle(broken)
    driver.core.handle(ObjectChanged(None, make_node("c")))

    driver.core.handle(ExtendersAnswered([FilterResponse(("a",))]))

    assert driver.core.cache.n_nodes == 3


def test_results_of_binds_are_deferred_too() -> None:
    """A pod that is forgotten while another one's extender is called would change the table under it."""
    driver = suspended()
    core = driver.core
    core.take_instructions()
    core.handle(ExtendersAnswered([FilterResponse(("a",))]))
    first = only(StartBinding, list(core.take_instructions())).assumed
    driver.add(make_pod("second", cpu="1"))
    core.schedule_one()
    core.take_instructions()

    core.handle(BindingFailed(first, Status.failed("409")))
    assert (driver.cpu, core.take_instructions()) == (1000, ())
    core.handle(ExtendersAnswered([FilterResponse(("b",))]))

    reasons = [reason for reason, _ in told(list(core.take_instructions()))]
    assert (driver.cpu, reasons) == (1000, ["FailedScheduling", "SchedulerError"])
    assert core.cache.n_assumed == 1


def test_an_answer_that_nobody_waits_for_is_refused() -> None:
    with pytest.raises(RuntimeError, match="no attempt waits"):
        Driver().core.handle(ExtendersAnswered([]))


def test_decide_is_not_for_profiles_with_extenders() -> None:
    driver = suspended()
    driver.core.handle(ExtendersAnswered([FilterResponse(("a",))]))

    with pytest.raises(RuntimeError, match="this profile has extenders"):
        driver.core.decide(make_pod("q"))


class BrokenObserver(Heard):
    def failed(self, profile: str, *, is_rejection: bool, seconds: float) -> None:
        raise RuntimeError("broken")


def test_an_attempt_that_breaks_while_it_is_resumed_does_not_stay_suspended() -> None:
    driver = suspended(observer=BrokenObserver())
    driver.core.take_instructions()
    driver.core.handle(ObjectChanged(None, make_node("late")))

    driver.core.handle(ExtendersAnswered([ExtenderError("refused")]))

    assert not driver.core.is_suspended
    assert driver.core.cache.node("late") is not None


def test_an_abandoned_attempt_leaves_no_trace() -> None:
    """At a stop: no answer will come, and nobody is told about the pod."""
    driver = suspended()
    driver.core.take_instructions()

    driver.core.abandon_attempt()

    assert (driver.core.is_suspended, driver.core.take_instructions(), driver.cpu) == (False, (), 0)
    driver.core.abandon_attempt()


def test_plugins_are_not_replaced_in_the_middle_of_an_attempt() -> None:
    driver = suspended()
    with pytest.raises(RuntimeError, match="in the middle of an attempt"):
        driver.core.replace_plugins(driver.loaded, driver.registry)


def test_a_bad_event_is_refused_within_the_plugin() -> None:
    """Not later, where it would cost others their instructions."""
    recorder = Driver().core.profiles["default-scheduler"].handle.recorder
    with pytest.raises(ValueError, match="an event is Normal or Warning, not 'Info'"):
        recorder.event(make_pod("p"), kind="Info", reason="R", action="A", note="n")
    nothing: Any = None
    with pytest.raises(TypeError, match="an event is about an object, not NoneType"):
        recorder.event(nothing, kind="Normal", reason="R", action="A", note="n")


def test_a_mirror_keeps_no_instructions() -> None:
    core = Driver(options={"schedules_pods": False}).core
    recorder = core.profiles["default-scheduler"].handle.recorder
    recorder.event(make_pod("p"), kind="Normal", reason="R", action="A", note="n")

    assert core.take_instructions() == ()


def test_pods_of_other_schedulers_are_left_alone() -> None:
    driver = Driver()

    assert driver.schedule(make_pod("p", scheduler_name="somebody-else")) == []
    assert "default/p" in driver.core.pods


def test_a_mirror_queues_no_pods() -> None:
    """Pods are known, and count on their nodes; none is tried."""
    driver = Driver(options={"schedules_pods": False})

    assert driver.schedule(make_pod("p"), make_pod("q", cpu="1", node_name="a")) == []
    assert (driver.cpu, len(driver.core.pods)) == (1000, 2)


def test_without_caches_decisions_are_the_same() -> None:
    nodes = [make_node(f"n{i}", cpu=str(1 + i % 3)) for i in range(12)]
    cached, plain = Harness(nodes=nodes), Driver(nodes="", options={"use_caches": False}).core
    for node in nodes:
        plain.handle(ObjectChanged(None, node))
    for _ in range(4):
        pod = make_pod("p", cpu="500m")
        ours, theirs = cached.decide(pod), plain.decide(pod)
        assert ours.scores is not None
        assert theirs.scores is not None
        assert ours.scores.totals.tolist() == theirs.scores.totals.tolist()


def test_time_wakes_pods_that_backed_off() -> None:
    driver = Driver()
    assumed = driver.start_binding(make_pod("p", metadata={"uid": "u"})).assumed
    driver.core.handle(BindingFailed(assumed, Status.failed("409")))
    driver.core.take_instructions()
    due = driver.core.next_wakeup()
    assert due is not None
    assert driver.core.schedule_one() is None

    driver.clock.advance(due - driver.clock.now())
    driver.core.run_due()

    assert driver.core.schedule_one() is not None


def test_nothing_is_due_in_an_empty_cluster() -> None:
    assert Driver().core.next_wakeup() is None


def test_the_driver_is_woken_by_pods_and_by_plugins() -> None:
    """A plugin may record an event or decide about a waiting pod at any time, not only while it is called."""
    woken: list[str] = []
    driver = Driver(permit=Status.wait(timeout_seconds=60), options={"wake": lambda: woken.append("x")})
    driver.schedule(make_pod("p", metadata={"uid": "u"}))
    woken.clear()
    handle = driver.core.profiles["default-scheduler"].handle

    handle.recorder.event(make_pod("p"), kind="Normal", reason="Because", action="Doing", note="a note")
    assert (len(woken), only(RecordEvent, list(driver.core.take_instructions())).reason) == (1, "Because")
    waiting = handle.waiting_pods.get("u")
    assert waiting is not None
    waiting.allow("Gate")
    assert len(woken) == 2


def test_custom_objects_reach_plugins_and_the_queue() -> None:
    driver = Driver()
    core = driver.core
    lister = core.objects.custom("example.com/v1", "racks")
    rack = {"metadata": {"name": "r", "namespace": "n"}, "spec": 1}
    core.handle(CustomObjectChanged("example.com/v1", "racks", None, rack))
    assert list(lister.list()) == [rack]
    core.handle(CustomObjectChanged("example.com/v1", "racks", rack, None))
    assert list(lister.list()) == []
    core.handle(CustomObjectChanged("example.com/v1", "racks", None, None))


def test_other_objects_are_stored() -> None:
    driver = Driver()
    service = Service.from_dict({"metadata": {"name": "s", "namespace": "default"}})
    driver.core.handle(ObjectChanged(None, service))
    assert driver.core.objects.lister(Service).get("s", "default") is service


def test_instructions_are_taken_once() -> None:
    driver = Driver()
    driver.core.handle(PodBound(driver.start_binding(make_pod("p")).assumed))

    assert len(driver.core.take_instructions()) == 1
    assert driver.core.take_instructions() == ()
