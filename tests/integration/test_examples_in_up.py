"""The example plugins in `bayplan up`: processes of their own, in the time of the machine, over HTTPS."""

from __future__ import annotations

import asyncio
import runpy
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from bayplan.client import HttpTransport, KubeClient, load_access
from bayplan.clock import SystemClock
from bayplan.model import ConfigMap, Event, Node, Pod

EXAMPLES = Path(__file__).parents[2] / "examples"
SOON: Final = 90.0
GPU: Final = "example.com/gpu"
#: podMaxBackoffSeconds.
MAX_BACKOFF_SECONDS: Final = 10


class Example(NamedTuple):
    folder: str
    plugin: str
    check: Callable[[KubeClient], Awaitable[None]]
    manifests: tuple[str, ...] = ()
    nodes: int = 2


def pod(name: str, *, cpu: str = "100m", gpus: int = 0, **more: Any) -> dict[str, Any]:
    requests = {"cpu": cpu} | ({GPU: str(gpus)} if gpus else {})
    container = {"name": "main", "image": "app", "resources": {"requests": requests, "limits": requests}}
    metadata = {"name": name, "labels": more.pop("labels", {}), "annotations": more.pop("annotations", {})}
    return {"metadata": metadata, "spec": {"containers": [container], **more}}


async def create(client: KubeClient, *pods: dict[str, Any]) -> None:
    for each in pods:
        await client.create(Pod, each, "default")


async def read(client: KubeClient, name: str) -> Pod:
    found = await client.get(Pod, name, "default")
    assert isinstance(found, Pod)
    return found


async def until(client: KubeClient, name: str, condition: Callable[[Pod], object]) -> Pod:
    """The pod as soon as *condition* holds."""
    async with asyncio.timeout(SOON):
        while not condition(found := await read(client, name)):
            await asyncio.sleep(0.05)
    return found


def is_refused(found: Pod) -> bool:
    condition = found.status.condition("PodScheduled")
    return condition is not None and condition.reason == "Unschedulable"


# --- what each of them does -------------------------------------------------------------------------------


async def packs_gpus(client: KubeClient) -> None:
    for name in ("node-1", "node-2"):
        status = {"status": {"capacity": {GPU: "8"}, "allocatable": {GPU: "8"}}}
        await client.patch(Node, name, status, subresource="status")
    await create(client, pod("first", gpus=2))
    first = await until(client, "first", lambda found: found.node_name)
    await create(client, pod("second", gpus=2))
    assert (await until(client, "second", lambda found: found.node_name)).node_name == first.node_name
    await create(client, pod("large", gpus=8))
    assert (await until(client, "large", lambda found: found.node_name)).node_name != first.node_name


async def keeps_the_quota(client: KubeClient) -> None:
    await create(client, pod("one", cpu="1"), pod("two", cpu="1"))
    for name in ("one", "two"):
        await until(client, name, lambda found: found.node_name)
    await create(client, pod("three", cpu="1"))
    refused = await until(client, "three", is_refused)
    condition = refused.status.condition("PodScheduled")
    assert condition is not None
    assert "the cpu quota of namespace default is used up" in condition.message
    await client.patch(ConfigMap, "cpu-quota", {"data": {"cpu": "3"}}, "default")
    await until(client, "three", lambda found: found.node_name)


async def waits_for_approval(client: KubeClient) -> None:
    await create(client, pod("web", labels={"example.com/release": "spring"}), pod("other"))
    await until(client, "other", lambda found: found.node_name)
    assert not (await read(client, "web")).node_name
    await client.patch(ConfigMap, "spring", {"data": {"approved": "true"}}, "default")
    await until(client, "web", lambda found: found.node_name)


async def spares_labelled_pods(client: KubeClient) -> None:
    (node,) = await client.list(Node)
    half = str(node.allocatable["cpu"] // 2 - 100) + "m"
    await create(client, pod("ledger", cpu=half, labels={"example.com/spared": "true"}))
    await create(client, pod("batch", cpu=half, priorityClassName="batch", terminationGracePeriodSeconds=0))
    for name in ("ledger", "batch"):
        await until(client, name, lambda found: found.node_name)
    await create(client, pod("urgent", cpu=half, priorityClassName="urgent"))
    await until(client, "urgent", lambda found: found.node_name)
    names = {each.name for each in await client.list(Pod, "default")}
    assert names == {"ledger", "urgent"}


async def orders_by_deadline(client: KubeClient) -> None:
    """Both wait for the same node, until neither is in backoff; then the order is the queue's."""
    await client.patch(Node, "node-1", {"spec": {"unschedulable": True}})
    for name, day in (("later", "2030-06-02"), ("first", "2030-06-01")):
        await create(client, pod(name, annotations={"example.com/deadline": day}))
        await until(client, name, is_refused)
    await asyncio.sleep(MAX_BACKOFF_SECONDS + 1)
    await client.patch(Node, "node-1", {"spec": {"unschedulable": None}})
    for name in ("first", "later"):
        await until(client, name, lambda found: found.node_name)
    async with asyncio.timeout(SOON):
        while len(scheduled := [each for each in await client.list(Event) if each.reason == "Scheduled"]) < 2:
            await asyncio.sleep(0.05)
    scheduled.sort(key=lambda each: str(each.event_time))
    assert [each.regarding.name for each in scheduled] == ["first", "later"]


async def annotates_the_rack(client: KubeClient) -> None:
    for name in ("node-1", "node-2"):
        await client.patch(Node, name, {"metadata": {"labels": {"example.com/rack": "r7"}}})
    await create(client, pod("web", labels={"example.com/annotate-rack": "true"}), pod("plain"))
    assert (await until(client, "web", lambda found: found.node_name)).annotations == {"example.com/rack": "r7"}
    assert (await until(client, "plain", lambda found: found.node_name)).annotations == {}


async def follows_the_scores(client: KubeClient) -> None:
    await create(client, pod("first"))
    assert (await until(client, "first", lambda found: found.node_name)).node_name == "node-2"


TABLE: Final = (
    Example("10-deadline-queue", "earliest_deadline.py:EarliestDeadline", orders_by_deadline, nodes=1),
    Example("13-gpu-packing", "gpu_packing.py:GpuPacking", packs_gpus),
    Example("14-namespace-quota", "namespace_quota.py:NamespaceQuota", keeps_the_quota, ("quota.yaml",)),
    Example("15-wait-for-config-map", "release_gate.py:ReleaseGate", waits_for_approval, ("release.yaml",)),
    Example(
        "16-spared-pods",
        "sparing_preemption.py:SparingPreemption",
        spares_labelled_pods,
        ("priorities.yaml",),
        nodes=1,
    ),
    Example("17-scores-over-http", "http_scores.py:HttpScores", follows_the_scores),
    Example("18-own-binder", "rack_binder.py:RackBinder", annotates_the_rack),
)


@asynccontextmanager
async def cluster_with(example: Example, configuration: Path, folder: Path) -> AsyncIterator[KubeClient]:
    """A client of `bayplan up` with the example; the process must end by itself when it is asked to."""
    source = EXAMPLES / example.folder
    bayplan, kubeconfig = Path(sys.executable).with_name("bayplan"), folder / "kubeconfig"
    words = ["up", "--nodes", str(example.nodes), "--write-kubeconfig", str(kubeconfig)]
    words += ["--config", str(configuration), "--plugin", str(source / example.plugin)]
    for manifest in example.manifests:
        words += ["-f", str(source / manifest)]
    with (folder / "log").open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            str(bayplan), *words, cwd=folder, stdout=output, stderr=output
        )
    try:
        async with asyncio.timeout(SOON):
            while not kubeconfig.exists():
                assert process.returncode is None, (folder / "log").read_text()
                await asyncio.sleep(0.05)
        client = KubeClient(HttpTransport(load_access(str(kubeconfig)), SystemClock()), SystemClock())
        try:
            yield client
        finally:
            await client.close()
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(SOON):
            assert await process.wait() == 0, (folder / "log").read_text()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize("example", TABLE, ids=lambda example: str(example.folder))
@pytest.mark.asyncio
async def test_the_example_runs_in_up(example: Example, tmp_path: Path) -> None:
    """Its plugin does in a cluster that one can reach with kubectl what its README tells."""
    configuration = EXAMPLES / example.folder / "scheduler.yaml"
    if example.folder != "17-scores-over-http":
        async with cluster_with(example, configuration, tmp_path) as client:
            await example.check(client)
        return
    serving = runpy.run_path(str(EXAMPLES / example.folder / "score_server.py"))["serving"]
    asked: list[str] = []
    with serving({"node-1": 0, "node-2": 100}, asked) as url:
        text = configuration.read_text().replace("http://127.0.0.1:8080/scores", url)
        changed = tmp_path / "scheduler.yaml"
        changed.write_text(text.replace("intervalSeconds: 10", "intervalSeconds: 0.1"))
        async with cluster_with(example, changed, tmp_path) as client:
            async with asyncio.timeout(SOON):
                while len(asked) < 2:  # by then, the first scores are in use
                    await asyncio.sleep(0.05)
            await example.check(client)
