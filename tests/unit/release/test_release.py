"""A release knows its plugins and gates; gates can be set without changing the release itself."""

from __future__ import annotations

import pytest

from bayplan.release import SUPPORTED, Release, release_named


@pytest.mark.parametrize("release", SUPPORTED.values(), ids=str)
def test_plugins_with_particulars_are_default_plugins(release: Release) -> None:
    """A misspelt name would have no effect."""
    named = release.nominal_points.keys() | release.omitted_points.keys()
    assert named <= dict(release.default_plugins).keys()


def test_gate_is_as_the_release_has_it() -> None:
    """Off where the release does not know it."""
    assert not release_named("1.36").is_enabled("StorageCapacityScoring")
    assert release_named("1.37").is_enabled("StorageCapacityScoring")
    assert not release_named("1.36").is_enabled("InterPodAffinityHostnameFastPath")


def test_set_gate_leaves_the_release_alone() -> None:
    """The data of a release is shared by everybody."""
    release = release_named("1.37")
    changed = release.with_gates({"GenericWorkload": True})

    assert (release.is_enabled("GenericWorkload"), changed.is_enabled("GenericWorkload")) == (False, True)
    assert changed.minor == release.minor == "1.37"
