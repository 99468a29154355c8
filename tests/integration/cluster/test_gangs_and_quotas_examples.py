"""The files of the gang and quota examples on a cluster in virtual time."""

from __future__ import annotations

from pathlib import Path

from tests.integration.cluster import gang_objects
from tests.integration.cluster.cluster_driver import ClusterDriver, run_on_cluster

EXAMPLES = Path(__file__).parents[3] / "examples"
GANG = EXAMPLES / "20-gang-training-job"
TEAMS = EXAMPLES / "21-quotas-three-teams"


def test_a_second_training_waits_as_a_whole() -> None:
    """There is room for six workers: the first training runs, the second waits until the first is deleted."""

    async def scenario(driver: ClusterDriver) -> None:
        async def phase(name: str) -> str:
            group = await driver.get(gang_objects.API_VERSION, "podgroups", name)
            return str((group.get("status") or {}).get("phase"))

        async def is_running(name: str) -> bool:
            return await phase(name) == "Running"

        await driver.apply(_endless(GANG / "training.yaml"))
        await driver.until(lambda: is_running("training"))
        await driver.apply(_endless(GANG / "second.yaml"))
        await driver.stay(lambda: _none_bound(driver, "second"), seconds=300)
        assert await phase("second") == "Scheduling"

        await driver.delete("batch/v1", "jobs", "training", body={"propagationPolicy": "Background"})
        await driver.delete(gang_objects.API_VERSION, "podgroups", "training")
        await driver.until(lambda: is_running("second"))

    run_on_cluster(scenario, nodes=3, **gang_objects.loaded((GANG / "scheduler.yaml").read_text()))


def _endless(file: Path) -> str:
    """A simulated Job completes after five seconds, unless its pods say otherwise."""
    told = '    metadata:\n      annotations: {bayplan.dev/run-seconds: "86400"}\n'
    text = file.read_text()
    assert text.count("    metadata:\n      labels:") == 1
    return text.replace("    metadata:\n", told, 1)


async def _none_bound(driver: ClusterDriver, group: str) -> bool:
    return not any(pod["spec"].get("nodeName") for pod in await driver.pods(**{gang_objects.LABEL: group}))


def test_teams_lend_and_take_back() -> None:
    """Batch borrows at night; research and web get their guaranteed quota, and web no more than that."""

    async def scenario(driver: ClusterDriver) -> None:
        async def cores(**expected: int) -> None:
            await driver.until(lambda: _uses(driver, expected), seconds=600)
            await driver.stay(lambda: _uses(driver, expected), seconds=60)

        await driver.apply((TEAMS / "teams.yaml").read_text())
        await driver.apply((TEAMS / "batch.yaml").read_text())
        await cores(batch=20, research=0, web=0)
        await driver.apply((TEAMS / "research.yaml").read_text())
        await cores(batch=16, research=8, web=0)
        await driver.apply((TEAMS / "web.yaml").read_text())
        await cores(batch=8, research=8, web=8)

    run_on_cluster(scenario, nodes=3, **gang_objects.loaded((TEAMS / "scheduler.yaml").read_text()))


async def _uses(driver: ClusterDriver, cores: dict[str, int]) -> bool:
    """Whether the bound pods request this many cpus per namespace."""
    items = (await driver.cluster.get("/api/v1/pods"))["items"]
    used = dict.fromkeys(cores, 0)
    for pod in items:
        if pod["spec"].get("nodeName"):
            requests = pod["spec"]["containers"][0]["resources"]["requests"]
            used[pod["metadata"]["namespace"]] += int(requests["cpu"])
    return used == cores
