"""Conditions of the common form."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.validation.condition_validation import condition_causes

GOOD = {"type": "Ready", "status": "True", "reason": "Fine", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def test_a_good_condition() -> None:
    assert list(condition_causes([GOOD, {**GOOD, "type": "example.com/Set_up"}], "c")) == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"type": "a b"}, "c[0].type", id="no label as type"),
        pytest.param({"status": "Maybe"}, "c[0].status", id="another status"),
        pytest.param({"reason": ""}, "c[0].reason", id="no reason"),
        pytest.param({"reason": "two words"}, "c[0].reason", id="a sentence as reason"),
        pytest.param({"reason": "x" * 1025}, "c[0].reason", id="a long reason"),
        pytest.param({"message": "x" * (32 * 1024 + 1)}, "c[0].message", id="a long message"),
        pytest.param({"lastTransitionTime": None}, "c[0].lastTransitionTime", id="no time"),
        pytest.param({"observedGeneration": -1}, "c[0].observedGeneration", id="a negative generation"),
    ],
)
def test_what_is_refused(change: dict[str, Any], field: str) -> None:
    assert [cause.field for cause in condition_causes([{**GOOD, **change}], "c")] == [field]


def test_one_condition_of_each_type() -> None:
    found = list(condition_causes([GOOD, GOOD], "c"))

    assert [(cause.field, cause.message) for cause in found] == [("c[1].type", 'Duplicate value: "Ready"')]
