"""A node that is nominated for a gang is not available to others until the gang gives it up."""

from __future__ import annotations

import asyncio

from tests.integration.cluster import gang_objects
from tests.integration.cluster.cluster_driver import ClusterDriver, run_on_cluster

#: Longer than the gang waits for its members and any pod backs off, shorter than the five minutes after which pods
#: are tried that no event has woken.
SOON_SECONDS = 60.0
#: Creation is known to the second, and a backoff is over: the older pod goes first.
OLDER_SECONDS = 3.0


def test_pod_is_retried_when_a_gang_gives_up_its_node() -> None:
    """Both teams share one cpu, which is in team-b's min. A gang of team-b evicts the pod of team-a; the next pod
    of team-a has to leave the node to it. The gang, which needs three cpus and has a quota for them, gives up.
    """

    async def scenario(driver: ClusterDriver) -> None:
        async def is_running() -> bool:
            return await gang_objects.bound(driver) == {"borrower"}

        async def is_evicted() -> bool:
            return not await gang_objects.bound(driver)

        async def was_scheduled() -> bool:
            events = await gang_objects.events_about(driver, "next", "team-a")
            return any(reason == "Scheduled" for _, reason, _ in events)

        await gang_objects.create(driver, gang_objects.namespace("team-a"), gang_objects.namespace("team-b"))
        await gang_objects.create(driver, gang_objects.quota("team-a", 0, 2), gang_objects.quota("team-b", 3, 3))
        await gang_objects.create(driver, gang_objects.pod("borrower", "team-a"))
        await driver.until(is_running)
        await gang_objects.create(driver, gang_objects.pod("next", "team-a"))
        await asyncio.sleep(OLDER_SECONDS)
        members = [gang_objects.pod(f"gang-{i}", "team-b", group="gang") for i in range(3)]
        await gang_objects.create(driver, gang_objects.group("gang", 3, "team-b"), *members)
        await driver.until(is_evicted)
        assert not await was_scheduled()
        await driver.until(was_scheduled, SOON_SECONDS)

    run_on_cluster(
        scenario, gang_objects.nodes_of([1]), **gang_objects.options(wait_seconds=4, reject_percentage=100)
    )
