"""Two training jobs of four workers on three simulated nodes of eight cores: one runs, the other waits."""

import asyncio
from pathlib import Path

from bayplan.apiserver.cluster import Cluster
from bayplan.config import load
from bayplan.scheduler import default_registry

HERE = Path(__file__).parent
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"


async def main():
    registry = default_registry()
    configuration = load((HERE / "scheduler.yaml").read_text(), source="scheduler.yaml", catalogue=registry)
    async with Cluster(nodes=3, configuration=configuration, registry=registry) as cluster:
        await cluster.apply((HERE / "training.yaml").read_text())
        await until(cluster, "training", "Running")
        await cluster.apply((HERE / "second.yaml").read_text())
        await until(cluster, "second", "Scheduling")
        await asyncio.sleep(2)
        await show(cluster)
        print("The first training is deleted.")
        with_its_pods = {"propagationPolicy": "Background"}
        await cluster.client.request("DELETE", "/apis/batch/v1/namespaces/default/jobs/training", with_its_pods)
        await cluster.client.request("DELETE", f"{GROUPS}/training")
        await until(cluster, "second", "Running")
        await show(cluster)


async def until(cluster, name, phase):
    async with asyncio.timeout(60):
        while (await cluster.get(f"{GROUPS}/{name}")).get("status", {}).get("phase") != phase:
            await asyncio.sleep(0.1)


async def show(cluster):
    for group in (await cluster.get(GROUPS))["items"]:
        status = group["status"]
        print(f"{group['metadata']['name']}: {status['phase']}, {status.get('running', 0)} running")


asyncio.run(main())
