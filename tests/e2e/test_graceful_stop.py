"""Asked to stop in the middle of a burst, Bayplan finishes what it has begun and begins nothing new."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.api import eventually
from tests.e2e.audit import BindingAudit
from tests.e2e.bayplan import start_bayplan
from tests.e2e.control_plane import ControlPlane
from tests.e2e.hold import await_hold, start_holding
from tests.e2e.objects import node, pod
from tests.e2e.seen import bound_to, condition

pytestmark = pytest.mark.e2e

#: So many that a busy test process notices the first ones bound long before the last one is decided.
BURST = 2000
#: What Kubernetes gives a pod to end.
STOP_SECONDS = 30.0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_burst_is_left_in_order(
    start_control_plane: Callable[..., ControlPlane], tmp_path: Path, number: signal.Signals
) -> None:
    """Every pod is bound or waits untouched, every bind has its event, and the next one goes on with the rest."""
    audit = BindingAudit(tmp_path)
    plane = start_control_plane(api_server_arguments=audit.arguments)
    plane.api.create_many([node(f"node-{i}", cpu="64", pods=500) for i in range(10)])
    plane.api.create_many([pod(f"pod-{i:04}") for i in range(BURST)])

    scheduler = start_bayplan(plane)
    eventually(lambda: len(audit.successes()) > BURST // 100, interval=0.01)
    scheduler.signal(number)
    asked = time.monotonic()

    assert scheduler.wait(STOP_SECONDS) == 0
    print(f"stopped after {time.monotonic() - asked:.2f} s with {len(audit.successes())} of {BURST} pods bound")
    pods = plane.api.list("Pod")
    bound = {each["metadata"]["name"] for each in pods if "nodeName" in each["spec"]}
    assert len(pods) == BURST
    assert 0 < len(bound) < BURST
    assert all(bind.is_success for bind in audit.binds())
    assert {bind.pod.removeprefix("default/") for bind in audit.binds()} == bound
    assert all(condition(each) is None for each in pods if each["metadata"]["name"] not in bound)
    told = {each["regarding"]["name"] for each in plane.api.list("events.k8s.io/v1/Event")}
    assert told >= bound

    start_bayplan(plane)
    eventually(lambda: len(audit.successes()) == BURST, interval=0.2)


def test_a_pod_on_hold_does_not_hold_up_the_stop(control_plane: ControlPlane, tmp_path: Path) -> None:
    """A pod that Permit holds is free when the scheduler ends; to the next one it is as good as new."""
    control_plane.api.create(node("a"))
    control_plane.api.create(pod("held"))
    scheduler = start_holding(control_plane, tmp_path)
    assert await_hold(control_plane, "held") == "a"

    scheduler.signal(signal.SIGTERM)

    assert scheduler.wait(STOP_SECONDS) == 0
    assert condition(control_plane.api.get("Pod", "held")) is None
    start_bayplan(control_plane)
    assert eventually(lambda: bound_to(control_plane.api, "held")) == "a"
