"""Status: codes as in Kubernetes, reasons, and who said it."""

from __future__ import annotations

import pytest

from bayplan.framework import SUCCESS, Code, Status


@pytest.mark.parametrize(
    ("code", "number", "label", "is_rejection"),
    [
        (Code.SUCCESS, 0, "Success", False),
        (Code.ERROR, 1, "Error", False),
        (Code.UNSCHEDULABLE, 2, "Unschedulable", True),
        (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, 3, "UnschedulableAndUnresolvable", True),
        (Code.WAIT, 4, "Wait", False),
        (Code.SKIP, 5, "Skip", False),
        (Code.PENDING, 6, "Pending", True),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_codes_are_those_of_kubernetes(code: Code, number: int, label: str, is_rejection: bool) -> None:
    """Numbers, words and what counts as a rejection are upstream's."""
    assert (int(code), code.label, code.is_rejection) == (number, label, is_rejection)
    assert Status(code).is_rejection is is_rejection


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (Status.success(), Code.SUCCESS, ""),
        (Status.unschedulable("one", "two"), Code.UNSCHEDULABLE, "one, two"),
        (Status.unresolvable("one"), Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "one"),
        (Status.pending("soon"), Code.PENDING, "soon"),
        (Status.skip(), Code.SKIP, ""),
        (Status.skip_alike(), Code.SKIP, ""),
        (Status.failed("broken"), Code.ERROR, "broken"),
        (Status.failed(ValueError("out of lights")), Code.ERROR, "out of lights"),
        (Status.failed(ValueError()), Code.ERROR, "ValueError"),
        (Status.wait("hold", timeout_seconds=3), Code.WAIT, "hold"),
    ],
    ids=[
        "success",
        "unschedulable",
        "unresolvable",
        "pending",
        "skip",
        "skip for all alike",
        "failed with a text",
        "failed with an exception",
        "failed with an exception without text",
        "wait",
    ],
)
def test_constructors(status: Status, code: Code, message: str) -> None:
    """Each constructor is named after its code."""
    assert (status.code, status.message) == (code, message)
    assert (status.is_success, status.is_skip) == (code is Code.SUCCESS, code is Code.SKIP)


def test_failure_keeps_the_exception() -> None:
    """The exception is there for the log; a wait has its timeout."""
    error = ValueError("out of lights")
    assert Status.failed(error).by("P").error is error
    assert Status.wait(timeout_seconds=3).by("P").timeout_seconds == 3


def test_first_name_stays() -> None:
    """Who spoke first is remembered; success is nobody's."""
    status = Status.unschedulable("no").by("First")
    assert (status.plugin, status.by("Second").plugin) == ("First", "First")
    assert SUCCESS.by("First") is SUCCESS


def test_equality_is_code_and_reasons() -> None:
    """Who said it does not matter for what it means."""
    assert Status.unschedulable("no").by("A") == Status.unschedulable("no").by("B")
    assert Status.unschedulable("no") != Status.unresolvable("no")
    assert Status.unschedulable("no") != Status.unschedulable("yes")
    assert Status.unschedulable("no") != "no"
    assert len({Status.unschedulable("no").by("A"), Status.unschedulable("no")}) == 1


def test_repr_tells_everything() -> None:
    """For logs and failing tests."""
    assert repr(Status.unschedulable("no").by("A")) == "<Status Unschedulable by A: no>"
    assert repr(Status.unschedulable("no")) == "<Status Unschedulable: no>"
