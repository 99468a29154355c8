"""A place that is promised to a gang is free for nobody else; when the gang gives it back, it is."""

from __future__ import annotations

import asyncio

from tests.integration.cluster import family
from tests.integration.cluster.story import World, tell

#: Longer than the gang waits for its members and any pod backs off, shorter than the five minutes after which pods
#: are tried that no event has woken.
SOON_SECONDS = 60.0
#: Creation is known to the second, and a backoff is over: the older pod goes first.
OLDER_SECONDS = 3.0


def test_who_left_room_for_a_gang_is_tried_when_it_gives_up() -> None:
    """One cpu is there for both teams, and team-b is sure of it. A gang of team-b evicts what team-a runs there; a
    pod of team-a that is tried next has to leave the place to it. The gang, which needs three and has a quota for
    them, gives up."""

    async def story(world: World) -> None:
        async def is_running() -> bool:
            return await family.bound(world) == {"borrower"}

        async def is_evicted() -> bool:
            return not await family.bound(world)

        async def was_scheduled() -> bool:
            events = await family.events_about(world, "next", "team-a")
            return any(reason == "Scheduled" for _, reason, _ in events)

        await family.create(world, family.namespace("team-a"), family.namespace("team-b"))
        await family.create(world, family.quota("team-a", 0, 2), family.quota("team-b", 3, 3))
        await family.create(world, family.pod("borrower", "team-a"))
        await world.until(is_running)
        await family.create(world, family.pod("next", "team-a"))
        await asyncio.sleep(OLDER_SECONDS)
        members = [family.pod(f"gang-{i}", "team-b", group="gang") for i in range(3)]
        await family.create(world, family.group("gang", 3, "team-b"), *members)
        await world.until(is_evicted)
        assert not await was_scheduled()
        await world.until(was_scheduled, SOON_SECONDS)

    tell(story, family.nodes_of([1]), **family.options(wait_seconds=4, reject_percentage=100))
