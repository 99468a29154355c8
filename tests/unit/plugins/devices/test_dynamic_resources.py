"""Pods with claims: where they fit, which devices they get, and what is written about it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devices.device_objects import (
    DRIVER,
    exactly,
    first_available,
    make_claim,
    make_class,
    make_device,
    make_slice,
)
from tests.unit.plugins.bench import Bench
from tests.unit.plugins.devices.claim_stage import ClaimStage, pod_claiming, pod_with_template

from bayplan.client import ApiError
from bayplan.framework import Code, CycleState, Diagnosis, Hint, PreBindPreFlight, Status, check_class
from bayplan.model import Pod, ResourceClaim
from bayplan.plugins.devices.dynamic_resources import DynamicResources
from bayplan.release import DEFAULT
from bayplan.testing import make_node, make_pod

GPU = "example.com/gpu"
CANNOT_ALLOCATE = Status.unresolvable("cannot allocate all claims")
NOT_AVAILABLE = Status.unresolvable("resourceclaim not available on the node")


def on_node(name: str) -> dict[str, Any]:
    """The selector of devices that are local to a node."""
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


def allocated(device: str = "a0", node: str = "a", *users: Pod) -> dict[str, Any]:
    """The status of a claim that has a device."""
    result = {"request": "r", "driver": DRIVER, "pool": node, "device": device}
    return {
        "allocation": {"devices": {"results": [result]}, "nodeSelector": on_node(node)},
        "reservedFor": [{"resource": "pods", "name": each.name, "uid": each.uid} for each in users],
    }


def stage(*claims: ResourceClaim, release: str = DEFAULT.minor) -> ClaimStage:
    """Node a with two devices, b with one, c with none."""
    slices = make_slice("sa", "a0", "a1", pool="a"), make_slice("sb", "b0", pool="b", node="b")
    nodes = [make_node("a"), make_node("b"), make_node("c")]
    return ClaimStage(make_class(), *slices, *claims, nodes=nodes, release=release)


def devices_of(claim: ResourceClaim) -> list[str]:
    assert claim.status.allocation is not None
    return [result.device for result in claim.status.allocation.devices.results]


# --- without claims ---------------------------------------------------------------------------------------


def test_it_is_on_the_points_of_kube_scheduler() -> None:
    assert check_class(DynamicResources) == (
        "preEnqueue",
        "preFilter",
        "filter",
        "postFilter",
        "score",
        "reserve",
        "preBind",
    )


@pytest.mark.parametrize(("release", "reasons"), [("1.36", ["no new claims to deallocate"]), ("1.37", [])])
def test_pod_without_claims(release: str, reasons: list[str]) -> None:
    """Filter is skipped, Score gives 0 to all, PostFilter has nothing to give back, and nothing is written."""
    bench = Bench([make_node("a"), make_node("b")], release=release)
    plugin, pod, state = bench.plugin(DynamicResources), make_pod("p", cpu="1"), CycleState()
    assert plugin.pre_enqueue(pod) is None
    assert bench.pre_filter(plugin, pod, state).is_skip
    status = plugin.post_filter(state, pod, Diagnosis(bench.nodes))
    assert status == Status.unschedulable(*reasons)
    scores = plugin.score_nodes(state, pod, bench.nodes)
    assert not isinstance(scores, Status)
    assert scores.tolist() == [0, 0]
    assert plugin.reserve(state, pod, "a") is None
    assert plugin.pre_bind_pre_flight(state, pod, "a") == Status.skip()
    assert plugin.sign(pod) is not None


def test_attempt_that_ended_before_its_pre_filter() -> None:
    """kube-scheduler then finds no state in PostFilter, and says no more than that."""
    bench = Bench()
    status = bench.plugin(DynamicResources).post_filter(CycleState(), make_pod("p"), Diagnosis(bench.nodes))
    assert (status.code, status.message) == (Code.ERROR, "not found")


def test_pods_with_claims_are_not_alike() -> None:
    plugin = stage().plugin
    assert plugin.sign(pod_claiming("c")) is None
    assert plugin.sign(pod_with_template()) is None


# --- PreEnqueue and PreFilter -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pod", "claim", "message"),
    [
        pytest.param(
            pod_claiming("c"), None, 'could not find ResourceClaim "default/c"', id="claim does not exist"
        ),
        pytest.param(
            pod_with_template(), None, 'pod "default/p": ResourceClaim not created yet', id="claim not made yet"
        ),
        pytest.param(
            pod_with_template([{"name": "c", "resourceClaimName": "made"}]),
            make_claim("made", exactly()),
            "ResourceClaim default/made was not created for Pod default/p (Pod is not owner)",
            id="claim of somebody else",
        ),
        pytest.param(
            pod_claiming("c"),
            make_claim("c", exactly(), metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
            'resourceclaim "c" is being deleted',
            id="claim being deleted",
        ),
    ],
)
def test_pod_waits_for_its_claims(pod: Pod, claim: ResourceClaim | None, message: str) -> None:
    """Before it is queued, and once more when it is tried."""
    on_stage = stage(*(claim,) if claim is not None else ())
    assert on_stage.plugin.pre_enqueue(pod) == Status.unresolvable(message)
    assert on_stage.bench.pre_filter(on_stage.plugin, pod) == Status.unresolvable(message)


def test_template_that_needed_no_claim() -> None:
    """The controller says so with a status without a name."""
    on_stage, pod = stage(), pod_with_template([{"name": "c"}])
    assert on_stage.plugin.pre_enqueue(pod) is None
    assert on_stage.bench.pre_filter(on_stage.plugin, pod).is_skip


def test_claim_that_was_made_for_the_pod() -> None:
    pod = pod_with_template([{"name": "c", "resourceClaimName": "made"}])
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    on_stage = stage(make_claim("made", exactly(), metadata={"ownerReferences": [owner]}))
    assert on_stage.plugin.pre_enqueue(pod) is None
    assert on_stage.rejections(pod) == {"c": CANNOT_ALLOCATE}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (exactly("r", cls="none"), "request r: device class none does not exist"),
        (
            first_available("r", exactly("x"), exactly("y", cls="none")),
            "request r/y: device class none does not exist",
        ),
    ],
)
def test_class_that_does_not_exist(request_: dict[str, Any], message: str) -> None:
    on_stage = stage(make_claim("c", request_))
    assert on_stage.bench.pre_filter(on_stage.plugin, pod_claiming("c")) == Status.unresolvable(message)


# --- Filter and Score -------------------------------------------------------------------------------------


def test_pod_fits_where_devices_can_be_found() -> None:
    on_stage = stage(make_claim("one", exactly()), make_claim("two", exactly(count=2)))
    assert on_stage.rejections(pod_claiming("one")) == {"c": CANNOT_ALLOCATE}
    assert on_stage.rejections(pod_claiming("two")) == {"b": CANNOT_ALLOCATE, "c": CANNOT_ALLOCATE}
    assert list(on_stage.rejections(pod_claiming("one", "two"))) == ["a", "b", "c"]


def test_allocated_claim_stays_where_its_devices_are() -> None:
    """Another pod may use it too, on the same node."""
    user = pod_claiming("c", name="user")
    on_stage = stage(make_claim("c", exactly(), status=allocated("a0", "a", user)))
    assert on_stage.rejections(pod_claiming("c")) == {"b": NOT_AVAILABLE, "c": NOT_AVAILABLE}


def test_devices_of_other_claims_are_taken() -> None:
    other = make_claim("other", exactly(), status=allocated("a0", "a"))
    on_stage = stage(other, make_claim("c", exactly(count=2)))
    assert list(on_stage.rejections(pod_claiming("c"))) == ["a", "b", "c"]
    on_stage.bench.objects.remove(other)
    assert list(on_stage.rejections(pod_claiming("c"))) == ["b", "c"]


def test_earlier_alternatives_score_more() -> None:
    """8 for the first, 7 for the second: normalised, 100 and 87."""
    claim = make_claim("c", first_available("r", exactly("two", 2), exactly("one")))
    on_stage, pod, state = stage(claim), pod_claiming("c"), CycleState()
    assert list(on_stage.rejections(pod, state)) == ["c"]
    nodes = on_stage.bench.nodes
    scores = on_stage.plugin.score_nodes(state, pod, nodes)
    assert not isinstance(scores, Status)
    assert dict(zip(nodes.names.tolist(), scores.tolist(), strict=True)) == {"a": 8, "b": 7, "c": 0}
    assert on_stage.plugin.normalize_score(state, pod, scores, nodes).tolist() == [100, 87, 0]


@pytest.mark.parametrize(("release", "where"), [("1.36", ""), ("1.37", " on device gpu.example.com/a/a0")])
def test_error_in_a_selector_fails_the_node(release: str, where: str) -> None:
    on_stage = stage(make_claim("c", exactly("r", 1, "device.attributes['x'].y == 1")), release=release)
    status = on_stage.rejections(pod_claiming("c"))["a"]
    assert status is not None
    assert status.code is Code.ERROR
    assert status.message.startswith(f"claim default/c: selector #0{where}: CEL runtime error: ")


# --- Reserve and Unreserve --------------------------------------------------------------------------------


def test_reserved_devices_are_taken() -> None:
    """Though nothing is written yet; Unreserve gives them back."""
    on_stage = stage(make_claim("c", exactly(count=2)), make_claim("d", exactly()))
    pod = pod_claiming("c")
    state = on_stage.reserve(pod, "a")
    assert list(on_stage.rejections(pod_claiming("d"))) == ["a", "c"]
    on_stage.plugin.unreserve(state, pod, "a")
    assert list(on_stage.rejections(pod_claiming("d"))) == ["c"]
    assert on_stage.server.requests == []


def test_claim_that_is_being_allocated_for_another_pod() -> None:
    on_stage = stage(make_claim("c", exactly()))
    on_stage.reserve(pod_claiming("c"), "a")
    answer = on_stage.bench.pre_filter(on_stage.plugin, pod_claiming("c", name="other"))
    assert answer == Status.unresolvable("resource claim default/c is in the process of being allocated")


def test_devices_that_went_to_somebody_else_before_reserve() -> None:
    on_stage, pod, state = (
        stage(make_claim("c", exactly()), make_claim("d", exactly())),
        pod_claiming("c"),
        CycleState(),
    )
    assert list(on_stage.rejections(pod, state)) == ["c"]
    on_stage.reserve(pod_claiming("d", name="other"), "b")
    status = on_stage.plugin.reserve(state, pod, "b")
    assert status == Status.failed("claim allocation not found for node")


# --- PreBind ----------------------------------------------------------------------------------------------


def test_pre_bind_writes_allocation_and_reservation() -> None:
    """First the finalizer, in a normal update; then the status."""
    on_stage, pod = stage(make_claim("c", exactly(count=2))), pod_claiming("c")
    state = on_stage.reserve(pod, "a")
    assert on_stage.plugin.pre_bind_pre_flight(state, pod, "a") == PreBindPreFlight(allow_parallel=True)
    assert on_stage.pre_bind(state, pod, "a") is None
    path = "default/resourceclaims/c"
    assert on_stage.server.requests == [("PUT", path), ("PUT", f"{path}/status")]
    claim = on_stage.claim("c")
    assert claim.metadata.finalizers == ("resource.kubernetes.io/delete-protection",)
    assert devices_of(claim) == ["a0", "a1"]
    written = claim.raw["status"]
    assert written["allocation"]["nodeSelector"] == on_node("a")
    assert written["reservedFor"] == [{"resource": "pods", "name": "p", "uid": pod.uid}]


def test_written_devices_stay_taken() -> None:
    on_stage, pod = stage(make_claim("c", exactly(count=2)), make_claim("d", exactly())), pod_claiming("c")
    on_stage.pre_bind(on_stage.reserve(pod, "a"), pod, "a")
    assert list(on_stage.rejections(pod_claiming("d"))) == ["a", "c"]


def test_shared_claim_gets_another_user() -> None:
    """Its allocation stays as it is; it has the finalizer already, or is none of our business."""
    user, pod = pod_claiming("c", name="user"), pod_claiming("c")
    on_stage = stage(make_claim("c", exactly(), status=allocated("a1", "a", user)))
    assert on_stage.pre_bind(on_stage.reserve(pod, "a"), pod, "a") is None
    assert on_stage.server.requests == [("PUT", "default/resourceclaims/c/status")]
    claim = on_stage.claim("c")
    assert devices_of(claim) == ["a1"]
    assert [each.uid for each in claim.status.reserved_for] == [user.uid, pod.uid]


def test_claim_that_is_reserved_already() -> None:
    """By an earlier attempt: nothing is left to write."""
    pod = pod_claiming("c")
    on_stage = stage(make_claim("c", exactly(), status=allocated("a0", "a", pod)))
    assert on_stage.pre_bind(on_stage.reserve(pod, "a"), pod, "a") is None
    assert on_stage.server.requests == []


def test_conflict_is_tried_again_with_the_newest_claim() -> None:
    on_stage, pod = stage(make_claim("c", exactly())), pod_claiming("c")
    state = on_stage.reserve(pod, "a")

    def conflict() -> None:
        on_stage.server.store(make_claim("c", exactly(), metadata={"labels": {"new": "1"}}).raw)
        raise ApiError(409)

    on_stage.server.before = [conflict]
    assert on_stage.pre_bind(state, pod, "a") is None
    assert [method for method, _ in on_stage.server.requests] == ["PUT", "GET", "PUT", "PUT"]
    assert on_stage.claim("c").labels == {"new": "1"}
    assert devices_of(on_stage.claim("c")) == ["a0"]


def test_claim_that_somebody_else_allocated_meanwhile() -> None:
    """The attempt fails, and the device that was chosen is free again."""
    on_stage, pod = stage(make_claim("c", exactly()), make_claim("two", exactly(count=2))), pod_claiming("c")
    state = on_stage.reserve(pod, "a")

    def conflict() -> None:
        on_stage.server.store(make_claim("c", exactly(), status=allocated("b0", "b")).raw)
        raise ApiError(409)

    on_stage.server.before = [conflict]
    status = on_stage.pre_bind(state, pod, "a")
    assert status is not None
    assert (status.code, status.message) == (
        Code.ERROR,
        "claim default/c got allocated elsewhere in the meantime",
    )
    on_stage.plugin.unreserve(state, pod, "a")
    assert list(on_stage.rejections(pod_claiming("two"))) == ["b", "c"]


def test_server_that_refuses_the_write() -> None:
    on_stage, pod = stage(make_claim("c", exactly())), pod_claiming("c")
    state = on_stage.reserve(pod, "a")

    def refuse() -> None:
        raise ApiError(403, message="no")

    on_stage.server.before = [refuse]
    status = on_stage.pre_bind(state, pod, "a")
    assert status is not None
    assert (status.code, status.message) == (Code.ERROR, "add finalizer to claim default/c: no")


def test_unreserve_takes_the_reservation_back() -> None:
    on_stage, pod = stage(make_claim("c", exactly())), pod_claiming("c")
    state = on_stage.reserve(pod, "a")
    on_stage.pre_bind(state, pod, "a")
    on_stage.plugin.unreserve(state, pod, "a")
    on_stage.carry_out()
    assert on_stage.server.requests[-1] == ("PATCH", "default/resourceclaims/c/status")
    assert on_stage.server.bodies[-1] == {
        "metadata": {"uid": "uid-c"},
        "status": {"reservedFor": [{"$patch": "delete", "uid": pod.uid}]},
    }


# --- binding conditions -----------------------------------------------------------------------------------


def attached(**condition: str) -> dict[str, Any]:
    """What the driver reports of the device a0."""
    return {"driver": DRIVER, "pool": "a", "device": "a0", "conditions": [{"status": "True", **condition}]}


def waiting_stage() -> tuple[ClaimStage, Pod, CycleState]:
    """The only device has to be attached first."""
    device = make_device("a0", bindingConditions=["Attached"], bindingFailureConditions=["Failed"])
    objects = make_class(), make_slice("sa", device, pool="a"), make_claim("c", exactly())
    on_stage, pod = ClaimStage(*objects, nodes=[make_node("a")]), pod_claiming("c")
    return on_stage, pod, on_stage.reserve(pod, "a")


def counted(on_stage: ClaimStage) -> str:
    """The scraped line of waits for devices."""
    text = on_stage.bench.core.plugin_metrics.registry.text().decode()
    return next(line for line in text.splitlines() if "_allocations_total{" in line)


def report(on_stage: ClaimStage, **condition: str) -> None:
    raw = on_stage.claim("c").raw
    on_stage.server.store({**raw, "status": {**raw["status"], "devices": [attached(**condition)]}})


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"type": "Attached"}, None),
        (
            {"type": "Failed", "reason": "Broken", "message": "no power"},
            'device binding failed: claim=c, reason=Broken, message="no power"',
        ),
        (
            {"type": "Failed", "reason": "Broken", "message": 'no "power"\n'},
            r'device binding failed: claim=c, reason=Broken, message="no \"power\"\n"',
        ),
    ],
)
def test_pod_waits_until_its_device_is_attached(condition: dict[str, str], message: str | None) -> None:
    on_stage, pod, state = waiting_stage()
    on_stage.clock.later = lambda: report(on_stage, **condition)
    status = on_stage.pre_bind(state, pod, "a")
    assert (None if status is None else status.message) == message
    assert f'status="{"success" if message is None else "failure"}"}} 1.0' in counted(on_stage)


def test_device_that_is_never_attached() -> None:
    """After 600 s the attempt is over; the next one rejects the node, and gives the device back."""
    on_stage, pod, state = waiting_stage()
    status = on_stage.pre_bind(state, pod, "a")
    assert status is not None
    assert status.message.startswith("device binding timeout: ")
    assert 'status="timeout"} 1.0' in counted(on_stage)
    on_stage.clock.advance(600)
    assert on_stage.rejections(pod) == {"a": NOT_AVAILABLE}


# --- PostFilter -------------------------------------------------------------------------------------------


def test_claim_that_is_in_the_way_is_deallocated() -> None:
    """Its node is full, nobody else uses it, so its devices are given back and the pod is tried again."""
    claim = make_claim("c", exactly(), status=allocated("b0", "b"))
    on_stage = stage(claim)
    pod = make_pod(
        "p",
        spec={
            "resourceClaims": [{"name": "c", "resourceClaimName": "c"}],
            "nodeSelector": {"kubernetes.io/hostname": "a"},
        },
    )
    decision = on_stage.bench.core.decide(pod)
    assert not decision.node_name
    assert "deallocation of ResourceClaim completed" in decision.message
    on_stage.carry_out()
    assert on_stage.server.requests == [("PUT", "default/resourceclaims/c/status")]
    assert on_stage.claim("c").status.allocation is None
    assert on_stage.bench.core.decide(pod).node_name == "a"


@pytest.mark.parametrize("users", [("other",), ("p", "other")])
@pytest.mark.parametrize(("release", "is_told"), [("1.36", True), ("1.37", False)])
def test_claim_that_others_use_stays(release: str, is_told: bool, users: tuple[str, ...]) -> None:
    pods = {name: pod_claiming("c", name=name) for name in ("p", "other")}
    claim = make_claim("c", exactly(), status=allocated("a0", "gone", *(pods[name] for name in users)))
    on_stage = stage(claim, release=release)
    decision = on_stage.bench.core.decide(pods["p"])
    assert not decision.node_name
    assert ("still not schedulable" in decision.message) == is_told
    on_stage.carry_out()
    assert on_stage.server.requests == []


# --- extended resources -----------------------------------------------------------------------------------


def extended_stage() -> ClaimStage:
    """Node a has devices that provide the resource, b offers it itself, c has neither."""
    nodes = [make_node("a"), make_node("b", resources={GPU: "4"}), make_node("c")]
    slices = make_slice("sa", "a0", "a1", pool="a")
    return ClaimStage(make_class("gpu", extendedResourceName=GPU), slices, nodes=nodes)


def test_resource_that_devices_provide() -> None:
    on_stage, pod = extended_stage(), make_pod("p", requests={GPU: "2"})
    assert on_stage.rejections(pod) == {"c": CANNOT_ALLOCATE}
    assert list(on_stage.rejections(make_pod("p", requests={GPU: "3"}))) == ["a", "c"]
    assert on_stage.plugin.sign(pod) is None


def test_resource_that_no_class_provides_is_left_to_others() -> None:
    on_stage = stage()
    pod = make_pod("p", requests={GPU: "1"})
    assert on_stage.bench.pre_filter(on_stage.plugin, pod).is_skip
    assert on_stage.plugin.sign(pod) is not None


def test_claim_for_extended_resources_is_created() -> None:
    """With one request for each container, then it is allocated, then the pod is told."""
    on_stage, pod = extended_stage(), make_pod("p", requests={GPU: "2"})
    assert on_stage.pre_bind(on_stage.reserve(pod, "a"), pod, "a") is None
    requests = on_stage.server.requests
    assert requests[0] == ("POST", "default/resourceclaims")
    assert requests[-1] == ("PATCH", "default/pods/p/status")
    created = on_stage.server.bodies[0]
    assert created["metadata"]["generateName"] == "p-extended-resources-"
    assert created["metadata"]["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
    (request,) = created["spec"]["devices"]["requests"]
    assert request["name"] == "container-0-request-0"
    assert request["exactly"] == {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}
    told = on_stage.server.bodies[-1]["status"]["extendedResourceClaimStatus"]
    mapping = {"containerName": "main", "resourceName": GPU, "requestName": "container-0-request-0"}
    assert told["requestMappings"] == [mapping]
    assert devices_of(on_stage.claim(told["resourceClaimName"])) == ["a0", "a1"]


def test_node_that_offers_the_resource_needs_no_claim() -> None:
    on_stage, pod = extended_stage(), make_pod("p", requests={GPU: "2"})
    assert on_stage.pre_bind(on_stage.reserve(pod, "b"), pod, "b") is None
    assert on_stage.server.requests == []


# --- queueing hints ---------------------------------------------------------------------------------------


UNALLOCATED, OTHER = make_claim("mine", exactly()), make_claim("other", exactly())
ALLOCATED = make_claim("mine", exactly(), status=allocated())
OTHER_ALLOCATED = make_claim("other", exactly(), status=allocated())


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, UNALLOCATED, Hint.QUEUE, id="the pod's claim appears"),
        pytest.param(None, OTHER, Hint.SKIP, id="another claim appears"),
        pytest.param(UNALLOCATED, UNALLOCATED, Hint.SKIP, id="the pod's claim, status as before"),
        pytest.param(UNALLOCATED, ALLOCATED, Hint.QUEUE, id="the pod's claim is allocated"),
        pytest.param(OTHER, OTHER_ALLOCATED, Hint.SKIP, id="another is allocated"),
        pytest.param(OTHER_ALLOCATED, OTHER, Hint.QUEUE, id="another is deallocated"),
    ],
)
def test_hint_for_claims(old: ResourceClaim | None, new: ResourceClaim, hint: Hint) -> None:
    """The pod's own claim helps when its status changes, any claim when it gives its devices back."""
    _, on_claim, *_ = stage(UNALLOCATED, new).plugin.events_to_register()
    assert on_claim.hint is not None
    assert on_claim.hint(pod_claiming("mine"), old, new) is hint


def test_no_hint_while_a_claim_is_missing() -> None:
    """Whatever other claims do."""
    _, on_claim, *_ = stage(OTHER).plugin.events_to_register()
    assert on_claim.hint is not None
    assert on_claim.hint(pod_claiming("mine"), OTHER_ALLOCATED, OTHER) is Hint.SKIP


def test_hint_for_pods() -> None:
    """The pod itself helps when all its claims are there."""
    waiting = pod_with_template()
    made = pod_with_template([{"name": "c"}])
    on_pod = stage().plugin.events_to_register()[2]
    assert on_pod.hint is not None
    assert on_pod.hint(made, waiting, made) is Hint.QUEUE
    assert on_pod.hint(waiting, waiting, waiting) is Hint.SKIP
    assert on_pod.hint(waiting, waiting, made) is Hint.SKIP
