"""Calls: who comes because it was called, and when that is too late."""

from __future__ import annotations

import pytest
from tests.unit.plugins.gangs import make_member

from bayplan.model import Pod
from bayplan.plugins._group_calls import Calls, Reason

GROUP = "default/g"


@pytest.fixture
def calls() -> Calls:
    return Calls()


@pytest.fixture
def members() -> list[Pod]:
    return [make_member(f"g-{i}", "g") for i in range(3)]


@pytest.mark.parametrize(
    ("because", "reason"),
    [(Reason.NEWS, Reason.CALL), (Reason.CALL, Reason.SECOND_CALL), (Reason.SECOND_CALL, Reason.SECOND_CALL)],
    ids=["who came by itself", "who was called", "who was called twice"],
)
def test_call_depends_on_why_the_caller_came(
    calls: Calls, members: list[Pod], because: Reason, reason: Reason
) -> None:
    """A call of one that was itself called is a second one."""
    calls.call(GROUP, members[1:], because=because)

    assert calls.answer(GROUP, members[1]) is reason


def test_member_is_called_until_it_is_tried(calls: Calls, members: list[Pod]) -> None:
    """Once tried, it waits for something of its own: whatever wakes it is news."""
    calls.call(GROUP, members[1:], because=Reason.NEWS)

    assert calls.answer(GROUP, members[0]) is Reason.NEWS
    assert calls.answer("default/other", members[1]) is Reason.NEWS
    assert [calls.answer(GROUP, members[1]) for _ in range(2)] == [Reason.CALL, Reason.NEWS]


def test_call_that_all_have_answered_is_forgotten(calls: Calls, members: list[Pod]) -> None:
    """Groups come and go."""
    calls.call(GROUP, members, because=Reason.NEWS)
    for member in members:
        assert len(calls) == 1
        calls.answer(GROUP, member)

    assert len(calls) == 0


def test_gated_member_does_not_hear_a_call(calls: Calls) -> None:
    """When its gates are gone it comes for that reason."""
    gated = make_member("g-3", "g", spec={"schedulingGates": [{"name": "wait"}]})
    calls.call(GROUP, [gated], because=Reason.CALL)

    assert calls.answer(GROUP, gated) is Reason.NEWS


def test_forgotten_call_is_none(calls: Calls, members: list[Pod]) -> None:
    """Of one group; others have their own."""
    calls.call(GROUP, members, because=Reason.NEWS)
    calls.call("default/h", members, because=Reason.NEWS)
    calls.forget(GROUP)

    assert calls.answer(GROUP, members[0]) is Reason.NEWS
    assert calls.answer("default/h", members[0]) is Reason.CALL
