"""The examples of gangs and quotas, from their very files, on a cluster in virtual time."""

from __future__ import annotations

from pathlib import Path

from tests.integration.cluster import family
from tests.integration.cluster.story import World, tell

EXAMPLES = Path(__file__).parents[3] / "examples"
GANG = EXAMPLES / "20-gang-training-job"
TEAMS = EXAMPLES / "21-quotas-three-teams"


def test_a_second_training_waits_as_a_whole() -> None:
    """Six workers have room: the first training runs, of the second no worker does until the first is deleted."""

    async def story(world: World) -> None:
        async def phase(name: str) -> str:
            group = await world.get(family.API_VERSION, "podgroups", name)
            return str((group.get("status") or {}).get("phase"))

        async def is_running(name: str) -> bool:
            return await phase(name) == "Running"

        await world.apply(_endless(GANG / "training.yaml"))
        await world.until(lambda: is_running("training"))
        await world.apply(_endless(GANG / "second.yaml"))
        await world.stay(lambda: _none_bound(world, "second"), seconds=300)
        assert await phase("second") == "Scheduling"

        await world.delete("batch/v1", "jobs", "training", body={"propagationPolicy": "Background"})
        await world.delete(family.API_VERSION, "podgroups", "training")
        await world.until(lambda: is_running("second"))

    tell(story, nodes=3, **family.loaded((GANG / "scheduler.yaml").read_text()))


def _endless(file: Path) -> str:
    """A simulated Job is done after five seconds, unless its pods say otherwise."""
    told = '    metadata:\n      annotations: {bayplan.dev/run-seconds: "86400"}\n'
    text = file.read_text()
    assert text.count("    metadata:\n      labels:") == 1
    return text.replace("    metadata:\n", told, 1)


async def _none_bound(world: World, group: str) -> bool:
    return not any(pod["spec"].get("nodeName") for pod in await world.pods(**{family.LABEL: group}))


def test_teams_lend_and_take_back() -> None:
    """Batch borrows at night; research and web get what they are sure of, and web no more than that."""

    async def story(world: World) -> None:
        async def cores(**expected: int) -> None:
            await world.until(lambda: _uses(world, expected), seconds=600)
            await world.stay(lambda: _uses(world, expected), seconds=60)

        await world.apply((TEAMS / "teams.yaml").read_text())
        await world.apply((TEAMS / "batch.yaml").read_text())
        await cores(batch=20, research=0, web=0)
        await world.apply((TEAMS / "research.yaml").read_text())
        await cores(batch=16, research=8, web=0)
        await world.apply((TEAMS / "web.yaml").read_text())
        await cores(batch=8, research=8, web=8)

    tell(story, nodes=3, **family.loaded((TEAMS / "scheduler.yaml").read_text()))


async def _uses(world: World, cores: dict[str, int]) -> bool:
    """Whether the pods on nodes request as many cpus, per namespace."""
    items = (await world.cluster.get("/api/v1/pods"))["items"]
    used = dict.fromkeys(cores, 0)
    for pod in items:
        if pod["spec"].get("nodeName"):
            requests = pod["spec"]["containers"][0]["resources"]["requests"]
            used[pod["metadata"]["namespace"]] += int(requests["cpu"])
    return used == cores
