"""A recorded line is compared with the release that it was recorded with."""

from __future__ import annotations

import pytest

from bayplan.conformance.recorded_release import recorded_release
from bayplan.release import release_named


@pytest.mark.parametrize(
    ("version", "minor"),
    [
        ("v1.36.4", "1.36"),
        ("v1.37.1", "1.37"),
        ("scheduler-plugins v0.34.7 (Kubernetes v1.34.4)", "1.36"),
        ("", "1.37"),
    ],
    ids=["older", "newer", "another program on Kubernetes", "none"],
)
def test_version_of_the_line_counts(version: str, minor: str) -> None:
    """The nearest release, or the default if the line has no version."""
    assert recorded_release({"version": version}, default=release_named("1.37")).minor == minor


def test_gates_of_the_line_are_set() -> None:
    """As they were given to the recorded scheduler, also those that users cannot set."""
    release = recorded_release(
        {"version": "v1.37.1", "gates": "GenericWorkload=true,OpportunisticBatching=false"},
        default=release_named("1.36"),
    )

    assert release.is_enabled("GenericWorkload")
    assert not release.is_enabled("OpportunisticBatching")
