"""Plugins that are served as an extender have their background work, and are closed, as in a scheduler."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest

from bayplan.config import load
from bayplan.framework import CycleState, Handle, NodeInfo, Plugin
from bayplan.model import Pod
from bayplan.process.extending import ExtenderProcess, ExtenderSettings, restricted
from bayplan.scheduler import default_registry

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: Polling}]}}}]
"""


class Polling(Plugin[None]):
    name = "Polling"
    life: ClassVar[list[str]] = []

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        handle.spawn(self._poll)

    async def _poll(self) -> None:
        self.life.append("polls")
        try:
            await self.handle.clock.sleep(3600)
        finally:
            self.life.append("ended")

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        return None

    async def close(self) -> None:
        self.life.append("closed")


@pytest.mark.asyncio
async def test_background_work_runs_while_it_serves() -> None:
    registry = default_registry()
    registry.add(Polling)
    loaded = restricted(load(CONFIGURATION, source="test", catalogue=registry), ["Polling"])
    process = ExtenderProcess(loaded, registry, ExtenderSettings(address="127.0.0.1", port=0))
    serving = asyncio.create_task(process.start_and_wait())
    async with asyncio.timeout(60):
        while not Polling.life:
            await asyncio.sleep(0.01)
    process._stop.set()
    await serving
    assert Polling.life == ["polls", "ended", "closed"]
