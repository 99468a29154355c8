"""Binding through the client."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.unit.plugins.bench import Bench

from bayplan.framework import Code, CycleState
from bayplan.model import Pod
from bayplan.plugins.default_binder import DefaultBinder
from bayplan.testing import make_pod


class Client:
    def __init__(self, refusal: Exception | None = None) -> None:
        self.bound: list[tuple[str, str]] = []
        self.refusal = refusal

    async def request(
        self, method: str, path: str, body: object | None = None, *, content_type: str | None = None
    ) -> dict[str, Any]:
        raise NotImplementedError

    async def bind(self, pod: Pod, node_name: str) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.bound.append((pod.name, node_name))


async def bind_with(client: Client) -> Any:
    bench = Bench()
    bench.handle.client = cast("Any", client)
    return await bench.plugin(DefaultBinder).bind(CycleState(), make_pod("p"), "a")


@pytest.mark.asyncio
async def test_binds_through_the_client() -> None:
    client = Client()
    assert await bind_with(client) is None
    assert client.bound == [("p", "a")]


@pytest.mark.asyncio
async def test_refusal_is_an_error_status() -> None:
    """What the API server says reaches the pod's attempt; nothing is raised."""
    status = await bind_with(Client(ConnectionError("pod p is already assigned")))
    assert status.code is Code.ERROR
    assert status.message == "pod p is already assigned"
