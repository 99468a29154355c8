"""A shadow beside the scheduler of the embedded cluster: it watches, and writes nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.explain.applied import LOADED, REGISTRY

from bayplan import config
from bayplan.apiserver.cluster import Cluster
from bayplan.clock import SystemClock
from bayplan.process.shadowing import NamedConfiguration, ShadowProcess, ShadowSettings
from bayplan.shadow.shadow_record import ShadowRecord

pytestmark = pytest.mark.asyncio

N_PODS = 12
PACKING = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
  plugins:
    score:
      disabled: [{name: "*"}]
      enabled: [{name: NodeResourcesFit, weight: 1}]
"""


def pod(number: int) -> dict[str, Any]:
    requests = {"cpu": f"{100 + 150 * number}m", "memory": f"{64 + 200 * number}Mi"}
    container = {"name": "main", "image": "pause", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"p{number}", "namespace": "default"},
        "spec": {"containers": [container]},
    }


async def test_each_configuration_has_its_word() -> None:
    """One decides like the cluster's scheduler, which has the same; the other packs, and would not."""
    packing = config.load(PACKING, source="packing.yaml", catalogue=REGISTRY)
    configurations = [NamedConfiguration("same.yaml", LOADED), NamedConfiguration("packing.yaml", packing)]
    records: list[ShadowRecord] = []
    async with Cluster(5) as cluster:
        settings = ShadowSettings(n_pods=N_PODS, settle_seconds=0.5, metrics_port=0)
        process = ShadowProcess(configurations, REGISTRY, cluster.client, SystemClock(), settings, records.append)
        running = asyncio.create_task(process.run())
        await asyncio.wait_for(process.synced.wait(), 60)
        await cluster.apply([pod(number) for number in range(N_PODS)])
        summary = await asyncio.wait_for(running, 120)

    alike, packed = summary.configs
    assert (alike.config, alike.n_placed, alike.agreement) == ("same.yaml", N_PODS, 1.0)
    assert (packed.config, packed.n_placed) == ("packing.yaml", N_PODS)
    assert packed.classes["real"] > 0
    assert len(records) == 2 * N_PODS
    text = process.metrics.registry.text().decode()
    assert (
        f'bayplan_shadow_placements_total{{class="real",config="packing.yaml"}} {packed.classes["real"]}.0' in text
    )
    assert 'bayplan_shadow_agreement_ratio{config="same.yaml"} 1.0' in text


async def test_a_shadow_that_is_stopped_has_a_summary() -> None:
    """With what was placed until then."""
    async with Cluster(2) as cluster:
        process = ShadowProcess(
            [NamedConfiguration("a", LOADED)],
            REGISTRY,
            cluster.client,
            SystemClock(),
            ShadowSettings(settle_seconds=60),
            lambda record: None,
        )
        running = asyncio.create_task(process.run())
        await asyncio.wait_for(process.synced.wait(), 60)
        await cluster.apply([pod(1)])
        scheduler = cluster.scheduler
        assert scheduler is not None
        await cluster.until(lambda: scheduler.core.cache.n_pods == 1 and not scheduler.core.cache.n_assumed)
        await cluster.until(lambda: process.n_held_back >= 2)
        process.stop()
        summary = await asyncio.wait_for(running, 60)

    assert [each.n_placed for each in summary.configs] == [1]
