"""A scheduler follows the release of its API server, and says so if it cannot."""

from __future__ import annotations

import socket

import pytest

from bayplan.client import ClusterAccess
from bayplan.process.followed_release import ask_release, choose_release
from bayplan.release import DEFAULT, SUPPORTED


@pytest.mark.parametrize("minor", SUPPORTED)
def test_supported_release_is_followed(minor: str) -> None:
    """Without a word."""
    release, warning = choose_release({"gitVersion": f"v{minor}.0"})

    assert (release.minor, warning) == (minor, "")


@pytest.mark.parametrize(
    ("version", "followed"), [("v1.30.1", "1.36"), ("v1.99.0", "1.37")], ids=["an old one", "one to come"]
)
def test_other_release_is_named_in_a_warning(version: str, followed: str) -> None:
    """With what is supported, what is followed instead, and what may differ."""
    major, minor, _ = version.removeprefix("v").split(".")
    release, warning = choose_release({"gitVersion": version, "emulationMajor": major, "emulationMinor": minor})

    assert release.minor == followed
    assert warning.startswith(
        f"the API server is Kubernetes {version}, supported are 1.36 and 1.37; "
        f"scheduling goes on as in {followed}. "
    )
    assert "default plugins, feature gates, scores and messages" in warning


def test_server_that_emulates_another_release_is_told_as_such() -> None:
    """It is what it emulates that is not supported."""
    release, warning = choose_release({"gitVersion": "v1.37.1", "emulationMajor": "1", "emulationMinor": "35"})

    assert release.minor == "1.36"
    assert warning.startswith("the API server is Kubernetes v1.37.1 emulating 1.35, supported are 1.36 and 1.37; ")


def test_server_without_a_version() -> None:
    """Some proxies answer with something else."""
    release, warning = choose_release({"kind": "Status"})

    assert release is DEFAULT
    assert "Kubernetes of an unknown version" in warning


@pytest.mark.asyncio
async def test_server_that_does_not_answer() -> None:
    """The default is followed: the scheduler starts, and waits for the server as it always does."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"

    release, warning = await ask_release(ClusterAccess(address))

    assert release is DEFAULT
    assert warning.startswith("the API server did not report its version (")
