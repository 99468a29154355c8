"""Devices on a real control plane: nothing is lost when a scheduler dies, and no device is given away twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.api import Api, Object, eventually
from tests.e2e.bayplan import start_bayplan
from tests.e2e.claim_objects import (
    GPU,
    all_devices,
    claim,
    device_class,
    devices_of,
    gpus_of,
    pod_with_claim,
    request,
)
from tests.e2e.control_plane import ControlPlane
from tests.e2e.hold import await_hold, start_holding
from tests.e2e.objects import node
from tests.e2e.processes import Process
from tests.e2e.seen import bound_to

pytestmark = pytest.mark.e2e

N_NODES, N_DEVICES = 4, 8


def test_a_scheduler_that_dies_before_it_writes_leaks_nothing(control_plane: ControlPlane, tmp_path: Path) -> None:
    """Killed between Reserve and PreBind: the claim is untouched, and the next one can give away every device."""
    api = control_plane.api
    first, all_four = claim("first", request("r", count=3)), claim("second", request("r", count=4))
    api.create_many([node("a"), device_class(GPU), gpus_of("a"), first, all_four, pod_with_claim("held", first)])
    scheduler = start_holding(control_plane, tmp_path)
    assert await_hold(control_plane, "held") == "a"
    scheduler.kill()

    untouched = api.get("ResourceClaim", "first")
    assert "finalizers" not in untouched["metadata"]
    assert not untouched.get("status")
    api.delete("Pod", "held")
    api.create(pod_with_claim("next", all_four))
    start_bayplan(control_plane)
    eventually(lambda: bound_to(api, "next"))
    assert devices_of(api.get("ResourceClaim", "second")) == [f"a/gpu-{i}" for i in range(4)]


def test_an_allocation_of_a_dead_scheduler_counts_for_the_next(control_plane: ControlPlane) -> None:
    """What is written is taken, whoever wrote it; the pod for which it was written gets these devices."""
    api = control_plane.api
    api.create_many([node("a"), device_class(GPU), gpus_of("a"), claim("first"), claim("second")])
    scheduler = start_bayplan(control_plane)
    api.create(pod_with_claim("one", claim("first")))
    eventually(lambda: bound_to(api, "one"))
    scheduler.kill()
    api.delete("Pod", "one")
    # No controller is there to free the claim: it stays allocated, and reserved for a pod that is gone.
    api.create_many([pod_with_claim("again", claim("first")), pod_with_claim("other", claim("second"))])

    start_bayplan(control_plane, name="next")

    eventually(lambda: bound_to(api, "again") and bound_to(api, "other"))
    assert devices_of(api.get("ResourceClaim", "first")) == ["a/gpu-0"]
    assert devices_of(api.get("ResourceClaim", "second")) == ["a/gpu-1"]


def test_two_schedulers_give_no_device_away_twice(control_plane: ControlPlane) -> None:
    """The leader dies in the middle of a burst; the other one goes on until every device is taken, once."""
    api = control_plane.api
    names = [f"node-{i}" for i in range(N_NODES)]
    api.create_many([*map(node, names), device_class(GPU), *(gpus_of(name, N_DEVICES) for name in names)])
    claims = [claim(f"claim-{i:02}") for i in range(N_NODES * N_DEVICES + 8)]
    api.create_many(claims)
    leader = _start_replica(control_plane, "first")
    _start_replica(control_plane, "second")

    api.create_many([pod_with_claim(f"pod-{i:02}", each) for i, each in enumerate(claims)])
    eventually(lambda: len(all_devices(api)) > N_DEVICES, interval=0.01)
    leader.kill()

    eventually(lambda: _n_bound(api) == N_NODES * N_DEVICES, interval=0.2)
    assert all_devices(api) == sorted(f"{name}/gpu-{i}" for name in names for i in range(N_DEVICES))


def _start_replica(plane: ControlPlane, name: str) -> Process:
    times = {"leaseDuration": "8s", "renewDeadline": "6s", "retryPeriod": "500ms"}
    configuration: Object = {"leaderElection": {"leaderElect": True, **times}}
    return start_bayplan(plane, configuration, name=name)


def _n_bound(api: Api) -> int:
    return sum("nodeName" in each["spec"] for each in api.list("Pod"))
