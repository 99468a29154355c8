"""Devices on a real control plane: nothing is lost when a scheduler dies, and no device is given away twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.e2e.api import Api, Object, eventually
from tests.e2e.bayplan import start_bayplan
from tests.e2e.claim_objects import (
    API_VERSION,
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
#: Parameters as somebody has written them: with blanks, with < and its escaped form, with zeros to spare.
LITERAL = b'{ "mode" : "a<b \\u003c c",\n  "share": 1.50 }'
CONFIGURED = claim("configured", config=[{"opaque": {"driver": GPU, "parameters": "LITERAL"}}])


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


def test_parameters_of_a_claim_may_be_written_in_any_way(start_control_plane: Callable[..., ControlPlane]) -> None:
    """With blanks, and characters that JSON escapes in several ways: the API server compares them byte by byte.

    The control plane is the test's own: nobody could take away the finalizers with JSON afterwards.
    """
    control_plane = start_control_plane()
    api = control_plane.api
    api.create_many([node("a"), device_class(GPU), gpus_of("a")])
    _create_literally(api, CONFIGURED)
    start_bayplan(control_plane)
    for name in ("first", "second"):
        api.create(pod_with_claim(name, CONFIGURED))
        eventually(partial(bound_to, api, name))

    written = api.get("ResourceClaim", "configured")
    assert written["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert devices_of(written) == ["a/gpu-0"]
    assert [each["name"] for each in written["status"]["reservedFor"]] == ["first", "second"]
    assert LITERAL in _stored(api, "configured")


def test_a_claim_of_the_stock_scheduler_is_shared_whatever_its_parameters(
    start_control_plane: Callable[..., ControlPlane],
) -> None:
    """Its allocation repeats the parameters as they were written, and must not change when another pod comes."""
    control_plane = start_control_plane()
    api = control_plane.api
    api.create_many([node("a"), device_class(GPU), gpus_of("a")])
    _create_literally(api, CONFIGURED)
    stock = control_plane.start_scheduler()
    api.create(pod_with_claim("first", CONFIGURED))
    eventually(lambda: bound_to(api, "first"))
    stock.kill()

    start_bayplan(control_plane)
    api.create(pod_with_claim("second", CONFIGURED))
    eventually(lambda: bound_to(api, "second"))
    reserved = api.get("ResourceClaim", "configured")["status"]["reservedFor"]
    assert [each["name"] for each in reserved] == ["first", "second"]
    assert _stored(api, "configured").count(LITERAL) == 2


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


def _create_literally(api: Api, body: Object) -> None:
    """Create a claim with `LITERAL` for its parameters."""
    path = f"/apis/{API_VERSION}/namespaces/default/resourceclaims"
    api.request("POST", path, json.dumps(body).encode().replace(b'"LITERAL"', LITERAL))


def _stored(api: Api, name: str) -> bytes:
    """A claim in protobuf, which has parameters as they were written."""
    path = f"/apis/{API_VERSION}/namespaces/default/resourceclaims/{name}"
    return api.raw("GET", path, accept="application/vnd.kubernetes.protobuf")[1]


def _n_bound(api: Api) -> int:
    return sum("nodeName" in each["spec"] for each in api.list("Pod"))
