"""The first solution wins: claims, requests, pools, slices and devices in order, each combination once."""

from __future__ import annotations

import pytest
from tests.unit.devices.device_objects import (
    DRIVER,
    DeviceStand,
    all_devices,
    exactly,
    first_available,
    make_claim,
    make_class,
    make_device,
    make_slice,
)

from bayplan.devices import AllocationError, AllocationTimeout, DeviceFeatures, SearchContext, plan_claim, search
from bayplan.model import ResourceClaim
from bayplan.release import release_named
from bayplan.testing import make_node

LARGE = f"device.attributes['{DRIVER}'].size == 'large'"
THREE = make_slice("s", "d0", "d1", "d2")
MIXED = make_slice(
    "s",
    make_device("d0", {"size": "small"}),
    make_device("d1", {"size": "large"}),
    make_device("d2", {"size": "large"}),
)


# --- ExactCount -------------------------------------------------------------------------------------------


def test_devices_are_taken_in_the_order_of_the_slice() -> None:
    stand = DeviceStand(THREE)
    assert stand.find(make_claim("c", exactly(count=2))) == [["d0", "d1"]]
    assert stand.find(make_claim("c", exactly("x"), exactly("y"))) == [["d0", "d1"]]
    assert stand.find(make_claim("c", exactly()), make_claim("e", exactly(count=2))) == [["d0"], ["d1", "d2"]]


def test_too_few_devices() -> None:
    """No device serves two requests, nor two claims of the same pod."""
    stand = DeviceStand(THREE)
    assert stand.find(make_claim("c", exactly(count=4))) is None
    assert stand.find(make_claim("c", exactly("x", 2), exactly("y", 2))) is None
    assert stand.find(make_claim("c", exactly(count=2)), make_claim("e", exactly(count=2))) is None
    assert stand.find(make_claim("c", exactly()), node="b") is None


def test_allocated_devices_are_passed_over() -> None:
    stand = DeviceStand(THREE)
    first, second = make_claim("first", exactly()), make_claim("second", exactly(count=2))
    stand.allocate(first)
    assert stand.find(second) == [["d1", "d2"]]
    stand.allocate(second)
    assert stand.find(make_claim("third", exactly())) is None
    stand.release(first)
    assert stand.find(make_claim("third", exactly())) == [["d0"]]


def test_earlier_choices_are_taken_back_if_they_leave_nothing() -> None:
    """The first request could have d0, but then nothing large is left for the second."""
    slices = make_slice("s", make_device("d0", {"size": "large"}), make_device("d1", {"size": "small"}))
    claim = make_claim("c", exactly("any"), exactly("large", 1, LARGE))
    assert DeviceStand(slices).find(claim) == [["d1", "d0"]]
    two = make_claim("any", exactly()), make_claim("large", exactly("r", 1, LARGE))
    assert DeviceStand(slices).find(*two) == [["d1"], ["d0"]]


def test_selectors_of_class_and_request_must_all_match() -> None:
    few = f"device.attributes['{DRIVER}'].index < 2"
    slices = make_slice(
        "s",
        make_device("d0", {"size": "small", "index": 0}),
        make_device("d1", {"size": "large", "index": 1}),
        make_device("d2", {"size": "large", "index": 2}),
    )
    stand = DeviceStand(slices, classes=[make_class("gpu", LARGE)])
    assert stand.find(make_claim("c", exactly())) == [["d1"]]
    assert stand.find(make_claim("c", exactly("r", 1, few))) == [["d1"]]
    assert stand.find(make_claim("c", exactly("r", 2, few))) is None


# --- All --------------------------------------------------------------------------------------------------


def test_all_takes_every_device_that_matches() -> None:
    assert DeviceStand(MIXED).find(make_claim("c", all_devices("r", LARGE))) == [["d1", "d2"]]


def test_all_needs_at_least_one_device() -> None:
    assert DeviceStand(THREE).find(make_claim("c", all_devices("r", "false"))) is None


def test_all_fails_if_one_device_is_taken() -> None:
    """Those that are left are not all."""
    stand = DeviceStand(THREE)
    stand.allocate(make_claim("other", exactly()))
    assert stand.find(make_claim("c", all_devices())) is None


def test_all_fails_if_an_earlier_request_has_one() -> None:
    """Unless the earlier request can do with a device that is not among them."""
    stand = DeviceStand(MIXED)
    assert stand.find(make_claim("c", exactly("x"), all_devices("y", LARGE))) == [["d0", "d1", "d2"]]
    assert stand.find(make_claim("c", exactly("x", 1, LARGE), all_devices("y", LARGE))) is None


def test_all_with_a_constraint_that_not_all_satisfy() -> None:
    """Such a claim makes no sense, and that is an error."""
    claim = make_claim("c", all_devices(), constraints=[{"matchAttribute": f"{DRIVER}/size"}])
    with pytest.raises(AllocationError) as error:
        DeviceStand(MIXED).find(claim)
    assert str(error.value) == (
        "claim default/c, request r: cannot add device gpu.example.com/pool/d1 "
        "because a claim constraint would not be satisfied"
    )


# --- firstAvailable ---------------------------------------------------------------------------------------


def test_first_alternative_that_is_available_wins() -> None:
    stand = DeviceStand(MIXED)
    claim = make_claim("c", first_available("r", exactly("large", 2, LARGE), exactly("any")))
    found = stand.search(claim)
    assert found is not None
    assert [plan.full_name for plan in found.chosen[0]] == ["r/large"]
    assert stand.find(claim) == [["d1", "d2"]]
    stand.allocate(make_claim("other", exactly("r", 1, LARGE)))
    assert stand.find(claim) == [["d0"]]


def test_later_alternative_for_the_sake_of_a_later_request() -> None:
    """The first alternative would leave too little for the second request."""
    claim = make_claim("c", first_available("r", exactly("two", 2), exactly("one")), exactly("more", 2))
    assert DeviceStand(THREE).find(claim) == [["d0", "d1", "d2"]]


def test_no_alternative_is_available() -> None:
    assert DeviceStand(THREE).find(make_claim("c", first_available("r", exactly("x", 5), exactly("y", 4)))) is None


# --- limits and errors ------------------------------------------------------------------------------------


def test_claim_for_too_many_devices() -> None:
    """A claim can have 32 devices."""
    stand = DeviceStand(make_slice("s", *(f"d{i:02}" for i in range(40))))
    assert stand.find(make_claim("c", exactly(count=32))) == [[f"d{i:02}" for i in range(32)]]
    with pytest.raises(AllocationError, match="request y: adding 1 devices exceeds the claim limit of 32"):
        stand.find(make_claim("c", exactly("x", 32), exactly("y")))


def test_alternative_with_fewer_devices_stays_within_the_limit() -> None:
    """The claim would do with 31 devices, so it is tried; the first alternative would make 33."""
    stand = DeviceStand(make_slice("s", *(f"d{i:02}" for i in range(40))))
    claim = make_claim("c", exactly("x", 30), first_available("y", exactly("three", 3), exactly("one")))
    found = stand.search(claim)
    assert found is not None
    assert [plan.full_name for plan in found.chosen[0]] == ["x", "y/one"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        pytest.param(
            exactly(cls="none"),
            "claim default/c, request r: could not retrieve device class none: "
            'deviceclass.resource.k8s.io "none" not found',
            id="class",
        ),
        pytest.param(
            exactly(allocationMode="Some"),
            "claim default/c, request r: unsupported count mode Some",
            id="mode",
        ),
        pytest.param(
            exactly(cls=""),
            "claim default/c, request r: missing device class name (unsupported request type?)",
            id="no class",
        ),
        pytest.param(
            exactly(selectors=[{}]),
            "claim default/c, request r, selector #0: CEL expression empty (unsupported selector type?)",
            id="selector",
        ),
    ],
)
def test_claim_that_no_node_can_satisfy(request_: dict[str, object], message: str) -> None:
    with pytest.raises(AllocationError) as error:
        DeviceStand(THREE).find(make_claim("c", request_))
    assert str(error.value) == message


def test_constraint_of_an_unknown_kind() -> None:
    with pytest.raises(AllocationError, match=r"claim default/c, constraint #0: empty constraint"):
        DeviceStand(THREE).find(make_claim("c", exactly(), constraints=[{}]))


def test_selector_that_cannot_be_evaluated() -> None:
    """An attribute that a device does not have ends the attempt, it does not merely fail to match."""
    where = (
        r"^claim default/c: selector #0 on device gpu\.example\.com/pool/d0: CEL runtime error: no such key: size"
    )
    with pytest.raises(AllocationError, match=where):
        DeviceStand(THREE).find(make_claim("c", exactly("r", 1, LARGE)))


def test_alternatives_without_their_feature() -> None:
    stand = DeviceStand(THREE, features=DeviceFeatures(prioritized_list=False))
    with pytest.raises(AllocationError, match="has subrequests, but the DRAPrioritizedList feature is disabled"):
        stand.find(make_claim("c", first_available("r", exactly("x"))))


def test_deadline_ends_a_long_search() -> None:
    """Without a solution all combinations of 10 out of 20 devices would be tried."""

    def deadline() -> None:
        raise AllocationTimeout

    stand = DeviceStand(make_slice("s", *(f"d{i:02}" for i in range(20))))
    claim = make_claim("c", exactly("x", 10), exactly("y", 11))
    plan = plan_claim(claim, {"gpu": make_class()}.get, stand.manager.features)
    context = SearchContext(stand.manager.allocated, stand.manager.features, deadline)
    with pytest.raises(AllocationTimeout):
        search([plan], stand.manager.index.of_node(make_node("a")), context)


# --- taints -----------------------------------------------------------------------------------------------


def tainted(effect: str) -> dict[str, object]:
    return make_device("d0", taints=[{"key": "broken", "value": "yes", "effect": effect}])


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_tainted_device_needs_a_toleration(effect: str) -> None:
    stand = DeviceStand(make_slice("s", tainted(effect), "d1"))
    assert stand.find(make_claim("c", exactly())) == [["d1"]]
    tolerations = [{"key": "broken", "operator": "Equal", "value": "yes", "effect": effect}]
    assert stand.find(make_claim("c", exactly(tolerations=tolerations))) == [["d0"]]
    assert stand.find(make_claim("c", exactly(tolerations=[{"operator": "Exists"}]))) == [["d0"]]
    wrong = [{"key": "broken", "operator": "Equal", "value": "no"}]
    assert stand.find(make_claim("c", exactly(tolerations=wrong))) == [["d1"]]


def test_taint_that_keeps_nobody_away() -> None:
    """Effects other than these are ignored, and so are all taints if the feature is off."""
    assert DeviceStand(make_slice("s", tainted("None"))).find(make_claim("c", exactly())) == [["d0"]]
    stand = DeviceStand(make_slice("s", tainted("NoSchedule")), features=DeviceFeatures(device_taints=False))
    assert stand.find(make_claim("c", exactly())) == [["d0"]]


def test_all_fails_if_one_device_is_tainted() -> None:
    assert DeviceStand(make_slice("s", "d1", tainted("NoSchedule"))).find(make_claim("c", all_devices())) is None


# --- what somebody may write ----------------------------------------------------------------------------------


def test_selector_that_costs_too_much_is_given_up() -> None:
    """Ten million steps in two hundred characters: the error is kube-scheduler's, and it comes soon."""
    expression = "true"
    for variable in "gfedcba":
        expression = f"[0,1,2,3,4,5,6,7,8,9].all({variable}, {expression})"
    stand = DeviceStand(make_slice("s", "d0"))

    with pytest.raises(
        AllocationError, match=r"CEL runtime error: operation cancelled: actual cost limit exceeded$"
    ):
        stand.find(make_claim("c", exactly("r", 1, expression)))


def test_slice_with_as_many_devices_as_the_api_allows() -> None:
    """All of them are more than a claim can have, and the limit is what it gets."""
    stand = DeviceStand(make_slice("s", *(f"d{i:03}" for i in range(128))))

    with pytest.raises(AllocationError, match="request r: adding 128 devices exceeds the claim limit of 32"):
        stand.find(make_claim("all", all_devices()))
    assert stand.find(make_claim("most", exactly(count=32))) == [[f"d{i:03}" for i in range(32)]]


def test_ten_thousand_slices() -> None:
    """Those of other nodes are not looked at."""
    slices = (make_slice(f"s{i}", "d0", pool=f"n{i}", node=f"n{i}") for i in range(10_000))
    stand = DeviceStand(*slices, nodes=[make_node("n9999")])

    assert [device.id[1] for device in stand.manager.of_node(make_node("n9999"))] == ["n9999"]
    assert stand.allocate(make_claim("first", exactly()), node="n9999") is not None
    assert stand.find(make_claim("second", exactly()), node="n9999") is None


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        pytest.param(
            make_claim("c", exactly("x", 32), exactly("y")),
            "number of requested devices 33 exceeds the claim limit of 32",
            id="too many devices",
        ),
        pytest.param(
            make_claim("c", exactly("r", 1, LARGE)),
            r"^claim default/c: selector #0: CEL runtime error: no such key: size",
            id="a selector that fails",
        ),
    ],
)
def test_texts_of_the_release_before(claim: ResourceClaim, message: str) -> None:
    stand = DeviceStand(
        make_slice("s", *(f"d{i:02}" for i in range(40))), features=DeviceFeatures.of(release_named("1.36"))
    )
    with pytest.raises(AllocationError, match=message):
        stand.find(claim)
