"""A release is found by its version, and by what an API server says of itself."""

from __future__ import annotations

import pytest

from bayplan.release import (
    NEWEST,
    SUPPORTED,
    UnsupportedRelease,
    nearest_release,
    release_named,
    release_of_server,
    supported_text,
)


@pytest.mark.parametrize(
    "text", ["1.37", "v1.37", "1.37.0", "v1.37.9-gke.1", "1.37.1+k3s1", "kube=1.37", " 1.37 "]
)
def test_version_names_its_minor_release(text: str) -> None:
    """The patch release, and what vendors add, do not matter."""
    assert release_named(text) is SUPPORTED["1.37"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.35", "Kubernetes 1.35 is not supported; supported are 1.36 and 1.37"),
        ("v1.38.0", "Kubernetes 1.38 is not supported; supported are 1.36 and 1.37"),
        ("latest", '"latest" is not a version; write for example 1.37'),
        ("", '"" is not a version; write for example 1.37'),
        ("1.37x", '"1.37x" is not a version; write for example 1.37'),
    ],
)
def test_other_version_is_refused(text: str, message: str) -> None:
    """With what is supported."""
    with pytest.raises(UnsupportedRelease) as refused:
        release_named(text)

    assert str(refused.value) == message


def test_server_is_followed_as_it_emulates() -> None:
    """A server that emulates an older release behaves like that one."""
    binary = {"major": "1", "minor": "37", "gitVersion": "v1.37.1"}

    assert release_of_server(binary).minor == "1.37"
    assert release_of_server({**binary, "emulationMajor": "1", "emulationMinor": "36"}).minor == "1.36"
    with pytest.raises(UnsupportedRelease):
        release_of_server({})


@pytest.mark.parametrize(
    ("text", "minor"), [("v1.30.2", "1.36"), ("1.36.9", "1.36"), ("1.37", "1.37"), ("v1.40.0", "1.37")]
)
def test_nearest_release_is_not_newer_than_it_must(text: str, minor: str) -> None:
    """The newest that is not newer; the oldest there is for what is older than all."""
    assert nearest_release(text).minor == minor


def test_newest_is_the_last() -> None:
    assert list(SUPPORTED.values())[-1] is NEWEST
    assert supported_text() == " and ".join(SUPPORTED)
