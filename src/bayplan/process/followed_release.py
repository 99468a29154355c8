"""The release that a process follows: that of the API server, unless the user chose one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bayplan.client import ClientError, HttpTransport, KubeClient
from bayplan.clock import SystemClock
from bayplan.release import (
    DEFAULT,
    Release,
    UnsupportedRelease,
    emulated_version,
    nearest_release,
    release_of_server,
    supported_text,
)

if TYPE_CHECKING:
    from bayplan.client import ClusterAccess

#: A scheduler that cannot ask starts all the same: its watches wait for the API server.
ASK_SECONDS: Final = 10.0


class FollowedRelease(NamedTuple):
    release: Release
    #: What the user should know; empty if the server's release is followed.
    warning: str = ""


async def ask_release(access: ClusterAccess) -> FollowedRelease:
    """The release of the API server; the default one if it does not answer."""
    clock = SystemClock()
    client = KubeClient(HttpTransport(access, clock), clock)
    try:
        async with asyncio.timeout(ASK_SECONDS):
            return choose_release(await client.request("GET", "/version"))
    except (ClientError, TimeoutError) as error:
        reason = str(error) or f"no answer within {ASK_SECONDS:.0f} seconds"
        return FollowedRelease(
            DEFAULT, f"the API server did not report its version ({reason}); following {DEFAULT}, the default"
        )
    finally:
        await client.close()


def choose_release(version: Mapping[str, Any]) -> FollowedRelease:
    """The release for an API server that answered *version*; for one that is not supported, the nearest."""
    try:
        return FollowedRelease(release_of_server(version))
    except UnsupportedRelease:
        told = str(version.get("gitVersion", "")) or "of an unknown version"
        emulated = emulated_version(version)
        if emulated and not told.startswith(f"v{emulated}."):
            told += f" emulating {emulated}"
        nearest = nearest_release(emulated or told)
        return FollowedRelease(
            nearest,
            f"the API server is Kubernetes {told}, supported are {supported_text()}; "
            f"scheduling goes on as in {nearest.minor}. Its own kube-scheduler may have other default plugins, "
            "feature gates, scores and messages, and fields of its objects may be unknown here",
        )
