"""What one change costs does not grow with the number of pods: counted in calls, in virtual time."""

from __future__ import annotations

import asyncio
import sys
from types import FrameType
from typing import Any

import pytest

from bayplan.apiserver.cluster import Cluster
from bayplan.apiserver.virtual_time import LoopClock, run_in_virtual_time
from bayplan.controllers.controller import Controller
from bayplan.controllers.disruption.disruption_budgets import DisruptionController
from bayplan.controllers.manager import ControllerManager
from bayplan.controllers.replica_sets import ReplicaSetController

REPLICA_SET = """
apiVersion: apps/v1
kind: ReplicaSet
metadata: {{name: web}}
spec:
  replicas: {count}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: c, image: nginx:1}}]}}
"""
BUDGET = """
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec:
  maxUnavailable: 1
  selector: {matchLabels: {app: web}}
"""
PATH = "/apis/apps/v1/namespaces/default/replicasets/web"


class _CallCounter:
    """Counts the calls of Python functions within its block."""

    def __enter__(self) -> _CallCounter:
        self.count = 0
        sys.setprofile(self._seen)
        return self

    def _seen(self, _frame: FrameType, event: str, _value: Any) -> None:
        self.count += event == "call"

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


@pytest.mark.parametrize("kind", [ReplicaSetController, DisruptionController])
def test_pods_are_counted_as_they_come(kind: type[Controller]) -> None:
    """Otherwise 10,000 pods that become ready are counted again at every step."""
    few, many = _calls_to_reconcile(kind, 20), _calls_to_reconcile(kind, 200)

    assert many == few


def _calls_to_reconcile(kind: type[Controller], count: int) -> int:
    async def scenario() -> int:
        async with Cluster(scheduler=False, controllers=(), clock=LoopClock()) as cluster:
            manager = ControllerManager(
                cluster.client, cluster.clock, [ReplicaSetController, DisruptionController]
            )
            running = asyncio.create_task(manager.run())
            await cluster.apply(REPLICA_SET.format(count=count) + BUDGET)
            while (await cluster.get(PATH)).get("status", {}).get("replicas") != count:
                await asyncio.sleep(0.1)
            await asyncio.sleep(10)
            with _CallCounter() as calls:
                await next(each for each in manager.controllers if type(each) is kind).reconcile("default/web")
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            return calls.count

    return run_in_virtual_time(scenario())
