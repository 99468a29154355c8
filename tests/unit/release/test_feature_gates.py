"""Feature gates are validated by name; those that affect scheduling cannot be changed."""

from __future__ import annotations

import pytest

from bayplan.release import SUPPORTED, Release, release_named

BEFORE = release_named("1.36")


@pytest.mark.parametrize(
    "items",
    [
        [],
        ["HPAScaleToZero=true"],
        ["kube:OpportunisticBatching=false"],
        ["SchedulerQueueingHints=true", "KMSv1=1"],
    ],
    ids=["none", "another component's", "with its component", "at its default"],
)
def test_gates_that_change_no_decision_are_accepted(items: list[str]) -> None:
    """Gates of other components, and any gate at its default."""
    release = BEFORE.with_gate_flags(items)

    for item in items:
        name, _, value = item.rpartition(":")[2].partition("=")
        assert release.is_enabled(name) is (value in ("true", "1"))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            "SchedulerQueueingHint=true",
            "unrecognized feature gate: SchedulerQueueingHint; did you mean SchedulerQueueingHints?",
        ),
        (
            "GangScheduling=true",
            "GangScheduling=true: Bayplan decides with this gate as it is in 1.36 by default, false",
        ),
        ("DynamicResourceAllocation=false", "as it is in 1.36 by default, true"),
        ("AllAlpha=true", "would change what the scheduler decides"),
        ("WorkloadWithJob=true", "WorkloadWithJob=true: it depends on GenericWorkload, which is off"),
        ("GangScheduling", "is not a feature gate; write for example GangScheduling=true"),
        ("KMSv1=maybe", 'KMSv1 is "maybe"; a feature gate is true or false'),
    ],
    ids=["misspelt", "alpha on", "default off", "all", "a gate it depends on", "no value", "no boolean"],
)
def test_invalid_gates_are_rejected(item: str, message: str) -> None:
    """With the reason, and the most similar name."""
    with pytest.raises(ValueError, match="^.*" + message.replace("?", r"\?")):
        BEFORE.with_gate_flags([item])


def test_every_gate_is_listed() -> None:
    """For kubernetes_feature_enabled."""
    release = BEFORE.with_gate_flags(["KMSv1=true"])
    listed = {name: (stage, enabled) for name, stage, enabled in release.feature_gates()}

    assert listed.keys() == BEFORE.gates.keys()
    assert listed["KMSv1"] == ("DEPRECATED", True)
    assert listed["SchedulerQueueingHints"] == ("", True)
    assert listed["GangScheduling"] == ("ALPHA", False)


@pytest.mark.parametrize("release", SUPPORTED.values(), ids=str)
def test_gates_that_are_named_exist(release: Release) -> None:
    """Those of the scheduler and those in dependencies are gates of the same release."""
    named = {*release.scheduler_gates, *release.gate_dependencies}
    named.update(each for others in release.gate_dependencies.values() for each in others)

    assert named <= release.gates.keys()
