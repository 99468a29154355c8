"""GroupActivations: which members are tried because of an activation, and when that is too late."""

from __future__ import annotations

import pytest
from tests.unit.plugins.gangs.support import make_member

from bayplan.model import Pod
from bayplan.plugins.gangs._activations import ActivationReason, GroupActivations

GROUP = "default/g"


@pytest.fixture
def activations() -> GroupActivations:
    return GroupActivations()


@pytest.fixture
def members() -> list[Pod]:
    return [make_member(f"g-{i}", "g") for i in range(3)]


@pytest.mark.parametrize(
    ("because", "reason"),
    [
        (ActivationReason.EVENT, ActivationReason.ACTIVATION),
        (ActivationReason.ACTIVATION, ActivationReason.SECOND_ACTIVATION),
        (ActivationReason.SECOND_ACTIVATION, ActivationReason.SECOND_ACTIVATION),
    ],
    ids=["tried for an event", "activated", "activated twice"],
)
def test_activation_depends_on_why_the_first_member_was_tried(
    activations: GroupActivations, members: list[Pod], because: ActivationReason, reason: ActivationReason
) -> None:
    """An activation by a member that was itself activated is a second one."""
    activations.record(GROUP, members[1:], because=because)

    assert activations.take_reason(GROUP, members[1]) is reason


def test_member_is_activated_until_it_is_tried(activations: GroupActivations, members: list[Pod]) -> None:
    """Once tried, it waits for events of its own."""
    activations.record(GROUP, members[1:], because=ActivationReason.EVENT)

    assert activations.take_reason(GROUP, members[0]) is ActivationReason.EVENT
    assert activations.take_reason("default/other", members[1]) is ActivationReason.EVENT
    assert [activations.take_reason(GROUP, members[1]) for _ in range(2)] == [
        ActivationReason.ACTIVATION,
        ActivationReason.EVENT,
    ]


def test_activation_is_forgotten_when_all_were_tried(activations: GroupActivations, members: list[Pod]) -> None:
    """Groups come and go."""
    activations.record(GROUP, members, because=ActivationReason.EVENT)
    for member in members:
        assert len(activations) == 1
        activations.take_reason(GROUP, member)

    assert len(activations) == 0


def test_gated_member_is_not_activated(activations: GroupActivations) -> None:
    """When its gates are removed, that event is the reason."""
    gated = make_member("g-3", "g", spec={"schedulingGates": [{"name": "wait"}]})
    activations.record(GROUP, [gated], because=ActivationReason.ACTIVATION)

    assert activations.take_reason(GROUP, gated) is ActivationReason.EVENT


def test_forgotten_activation_has_no_effect(activations: GroupActivations, members: list[Pod]) -> None:
    """Only that of the group; other groups keep theirs."""
    activations.record(GROUP, members, because=ActivationReason.EVENT)
    activations.record("default/h", members, because=ActivationReason.EVENT)
    activations.forget(GROUP)

    assert activations.take_reason(GROUP, members[0]) is ActivationReason.EVENT
    assert activations.take_reason("default/h", members[0]) is ActivationReason.ACTIVATION
