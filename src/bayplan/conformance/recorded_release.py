"""The release that a line was recorded with."""

from __future__ import annotations

import re
from typing import Any, Final

from bayplan.release import Release, nearest_release
from bayplan.release.feature_gates import parse_gates

_VERSION: Final = re.compile(r"v\d+\.\d+[^\s)]*")


def recorded_release(line: dict[str, Any], *, default: Release) -> Release:
    """Of the line's `version`, with its feature `gates`; *default* if it has no version.

    A line of a release that is not supported is compared with the nearest one: the family was recorded on
    Kubernetes 1.34. Where a version names several programs, as there, the last one is Kubernetes.
    """
    versions = _VERSION.findall(str(line.get("version", "")))
    release = nearest_release(versions[-1]) if versions else default
    gates = line.get("gates")
    return release.with_gates(parse_gates(gates.split(","))) if gates else release
