"""Releases of Kubernetes as data: what kube-scheduler is by default in each minor release that Bayplan follows.

    release = release_named("1.37")
    release.is_enabled("StorageCapacityScoring")
    release.facts.has_pod_group_post_filter

`release.py` and `release_facts.py` say what is known of a release, one module per release says it. A `Release` is
chosen once, when a scheduler is built, and travels with its catalogue of plugins: `Registry.release`,
`Loaded.release`, `SchedulerCore.release`, `Handle.release`. Nothing else in the tree compares version numbers:
behaviour that differs asks for a gate or for a fact.
"""

from bayplan.release.feature_gates import Gate
from bayplan.release.release import Release
from bayplan.release.release_facts import ReleaseFacts
from bayplan.release.supported_releases import (
    DEFAULT,
    NEWEST,
    SUPPORTED,
    UnsupportedRelease,
    emulated_version,
    nearest_release,
    release_named,
    release_of_server,
    supported_text,
)

__all__ = [
    "DEFAULT",
    "NEWEST",
    "SUPPORTED",
    "Gate",
    "Release",
    "ReleaseFacts",
    "UnsupportedRelease",
    "emulated_version",
    "nearest_release",
    "release_named",
    "release_of_server",
    "supported_text",
]
