"""A service that refuses one pod and records the others, and a cluster that calls it."""

import asyncio
from pathlib import Path

from aiohttp import web

from bayplan import Cluster
from bayplan.config import load
from bayplan.scheduler import default_registry

HERE = Path(__file__).parent
POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec: {containers: [{name: main, image: app}]}
"""
book = []


async def write_down(request):
    entry = await request.json()
    if entry["pod"] == "default/unwanted":
        return web.Response(status=403, text="not in my book")
    book.append(entry["pod"])
    return web.Response(status=201)


async def serve():
    """Start the service on a free port; returns its runner and its URL."""
    app = web.Application()
    app.router.add_post("/entries", write_down)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"


async def condition(cluster, name):
    """Wait for the pod's PodScheduled condition."""
    while True:
        pod = await cluster.get(f"/api/v1/namespaces/default/pods/{name}")
        for each in pod["status"].get("conditions", ()):
            if each["type"] == "PodScheduled":
                return each
        await asyncio.sleep(0.02)


async def main():
    runner, url = await serve()
    registry = default_registry([f"{HERE / 'address_book.py'}:AddressBook"])
    text = (HERE / "scheduler.yaml").read_text().replace("http://127.0.0.1:8070", url)
    configuration = load(text, source="scheduler.yaml", catalogue=registry)
    async with Cluster(nodes=1, configuration=configuration, registry=registry) as cluster:
        for name in ("wanted", "unwanted"):
            await cluster.apply(POD % name)
            found = await condition(cluster, name)
            print(f"{name}: PodScheduled={found['status']} {found.get('message', '')}".rstrip())
    await runner.cleanup()
    print("the book:", book)


asyncio.run(main())
