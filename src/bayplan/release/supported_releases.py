"""The releases that Bayplan follows, and how one is chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from bayplan.release.kubernetes_1_36 import KUBERNETES_1_36
from bayplan.release.kubernetes_1_37 import KUBERNETES_1_37
from bayplan.release.release import Release

#: Minor release → what is known of it, the oldest first.
SUPPORTED: Final[Mapping[str, Release]] = {each.minor: each for each in (KUBERNETES_1_36, KUBERNETES_1_37)}
NEWEST: Final = KUBERNETES_1_37
#: What is followed where nobody says which. While a new release is being added it stays at the one before.
DEFAULT: Final = NEWEST

_VERSION: Final = re.compile(r"(?:kube=)?v?(\d+)\.(\d+)(?:[.+-].*)?")


class UnsupportedRelease(ValueError):
    """A version that Bayplan does not follow, or no version at all."""


def release_named(version: str) -> Release:
    """The release of `1.37`, `v1.37.1`, `1.37.1+vendor` or `kube=1.37`."""
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        raise UnsupportedRelease(f'"{version}" is not a version; write for example {NEWEST.minor}')
    minor = f"{int(match[1])}.{int(match[2])}"
    if minor not in SUPPORTED:
        raise UnsupportedRelease(f"Kubernetes {minor} is not supported; supported are {supported_text()}")
    return SUPPORTED[minor]


def release_of_server(version: Mapping[str, Any]) -> Release:
    """The release of an API server that answered *version* to GET /version."""
    return release_named(emulated_version(version) or str(version.get("gitVersion", "")))


def emulated_version(version: Mapping[str, Any]) -> str:
    """Such as 1.37: as what an API server behaves that answered *version*; empty if it does not say."""
    major, minor = version.get("emulationMajor"), version.get("emulationMinor")
    return f"{major}.{minor}" if major and minor else ""


def nearest_release(version: str) -> Release:
    """The supported release that comes closest to *version*; the default for what is no version."""
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return DEFAULT
    wanted = int(match[1]), int(match[2])
    older = [each for each in SUPPORTED.values() if _number(each) <= wanted]
    return older[-1] if older else next(iter(SUPPORTED.values()))


def supported_text() -> str:
    """For messages: `1.36 and 1.37`."""
    return " and ".join(SUPPORTED)


def _number(release: Release) -> tuple[int, int]:
    major, minor = release.minor.split(".")
    return int(major), int(minor)
