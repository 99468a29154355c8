"""ApiWriter: what is written to pods."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

import pytest

from bayplan.client import KubeClient
from bayplan.client.pod_status import status_patch
from bayplan.cycle.failure import Failure
from bayplan.framework import Status
from bayplan.model import Pod
from bayplan.testing import make_pod
from bayplan.writer import ApiWriter


class Client:
    """Keeps the patches that would be sent."""

    def __init__(self) -> None:
        self.patches: list[Any] = []

    async def patch_pod_status(self, pod: Pod, **wanted: Any) -> bool:
        self.patches.append(status_patch(pod, now=0.0, **wanted))
        return True


@pytest.mark.parametrize(
    ("announced", "is_withdrawn"),
    [pytest.param("a", True, id="announced a moment ago"), pytest.param("", False, id="never announced")],
)
def test_nomination_that_the_watch_has_not_shown(announced: str, is_withdrawn: bool) -> None:
    """A pod whose bind failed does not stay nominated, even if its status is not known to say so yet."""
    client = Client()
    written: list[Coroutine[Any, Any, None]] = []
    writer = ApiWriter(cast("KubeClient", client), written.append)
    writer.write_status(make_pod("p"), failure=Failure(Status.unschedulable("no"), "no", announced=announced))
    asyncio.run(written[0])

    (patch,) = client.patches
    assert ("nominatedNodeName" in patch["status"]) == is_withdrawn
    assert patch["status"].get("nominatedNodeName") is None
