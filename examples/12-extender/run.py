"""The extender on a free port, a cluster of two nodes, and a pod that only one of them accepts."""

import asyncio
from pathlib import Path

from aiohttp import web
from extender import app

from bayplan import Cluster
from bayplan.config import load
from bayplan.scheduler import default_registry
from bayplan.testing import make_node

HERE = Path(__file__).parent
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: main, image: app}]}
"""
NODES = [make_node("plain"), make_node("mine", labels={"custom": "true"})]


async def main():
    runner = web.AppRunner(app.application())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    text = (HERE / "scheduler.yaml").read_text().replace("8888", str(runner.addresses[0][1]))
    registry = default_registry()
    configuration = load(text, source="scheduler.yaml", catalogue=registry)
    nodes = [{**node.to_dict(), "metadata": {"name": node.name, "labels": dict(node.labels)}} for node in NODES]
    async with Cluster(nodes, configuration=configuration, registry=registry) as cluster:
        await cluster.apply(POD)
        await cluster.until(lambda: len(cluster.scheduler.records) > 0)
        (record,) = cluster.scheduler.records
        print("p →", record.node_name)
        for call in record.extenders:
            print(f"{call.verb}: turned down {call.failed}, left {call.n_left}")
    await runner.cleanup()


asyncio.run(main())
