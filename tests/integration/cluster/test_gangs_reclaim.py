"""Gangs and quotas: what an incomplete gang may reclaim from others, and what others may reclaim from it."""

from __future__ import annotations

from tests.integration.cluster import gang_objects
from tests.integration.cluster.cluster_driver import ClusterDriver, Object, run_on_cluster

#: How long members wait at Permit.
TIMEOUT_SECONDS = 4
#: Shorter than that: nothing has happened because of a timeout.
SOON_SECONDS = 3.0
OPTIONS = gang_objects.options(wait_seconds=TIMEOUT_SECONDS, reject_percentage=100)


def gang(namespace: str, name: str, size: int, *, priority: int = 0) -> list[Object]:
    """A gang of *size* members that are all needed; one cpu each."""
    members = [gang_objects.pod(f"{name}-{i}", namespace, group=name, priority=priority) for i in range(size)]
    return [gang_objects.group(name, size, namespace), *members]


async def begin(driver: ClusterDriver, **quotas: tuple[int, int]) -> None:
    """Create namespaces with their quotas; cpu, min and max."""
    await gang_objects.create(
        driver, *(gang_objects.namespace(name) for name in quotas), gang_objects.priority_class(2)
    )
    await gang_objects.create(driver, *(gang_objects.quota(name, *amounts) for name, amounts in quotas.items()))


async def are_bound(driver: ClusterDriver, *names: str) -> bool:
    return await gang_objects.bound(driver) == set(names)


async def preempted(driver: ClusterDriver, namespace: str) -> set[str]:
    items = (await driver.cluster.get(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"))["items"]
    return {each["regarding"]["name"] for each in items if each["reason"] == "Preempted"}


def test_gang_that_must_wait_does_not_evict_waiting_members() -> None:
    """b could evict a's members, which borrow, but would then have to wait itself. It gets their nodes when a
    gives up, and a does not take them back.
    """

    async def scenario(driver: ClusterDriver) -> None:
        await begin(driver, a=(0, 4), b=(4, 4))
        await gang_objects.create(driver, *gang("a", "g", 4))
        await driver.stay(lambda: are_bound(driver), 1.0)
        await gang_objects.create(driver, *gang("b", "h", 2))
        await driver.until(lambda: are_bound(driver, "h-0", "h-1"), 2 * TIMEOUT_SECONDS)
        await driver.stay(lambda: are_bound(driver, "h-0", "h-1"), 30.0)
        assert await preempted(driver, "a") == set()

    run_on_cluster(scenario, gang_objects.nodes_of([3]), **OPTIONS)


def test_gang_evicts_borrowers_once_they_are_bound() -> None:
    """They wait for a member that only fits a tainted node, whose label comes late. That they are bound is the
    only event for the other gang, whose min they have borrowed.
    """
    only = {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"for": "the-last"}}
    open_node, closed_node = gang_objects.nodes_of([2, 1])
    closed_node["spec"] = {**closed_node.get("spec", {}), "taints": [{"key": "closed", "effect": "NoSchedule"}]}

    async def scenario(driver: ClusterDriver) -> None:
        await begin(driver, a=(0, 9), b=(9, 9))
        group, *members = gang("a", "g", 3)
        members[0]["spec"].update(only)
        await gang_objects.create(driver, group, *members)
        # One more than needed, so that none of the others was rejected for a missing member.
        group, *members = gang("b", "h", 2)
        await gang_objects.create(driver, group, gang_objects.pod("h-early", "b", group="h"), *members)
        await driver.delete("v1", "pods", "h-early", "b")
        await driver.stay(lambda: are_bound(driver), 1.0)
        label = {"metadata": {"labels": only["nodeSelector"]}}
        await driver.client.request("PATCH", f"/api/v1/nodes/{closed_node['metadata']['name']}", label)
        await driver.until(lambda: are_bound(driver, "g-0", "h-0", "h-1"), SOON_SECONDS - 1.0)

    run_on_cluster(scenario, [open_node, closed_node], **OPTIONS)


def test_pod_gets_the_place_of_a_waiting_gang_of_higher_priority() -> None:
    """Its min covers the pod, and the gang is not tried again before it."""

    async def scenario(driver: ClusterDriver) -> None:
        await begin(driver, a=(0, 2), b=(2, 2))
        await gang_objects.create(driver, *gang("a", "g", 3, priority=2))
        await driver.stay(lambda: are_bound(driver), 1.0)
        await gang_objects.create(driver, gang_objects.pod("p", "b", cpu=2))
        await driver.until(lambda: are_bound(driver, "p"), SOON_SECONDS - 1.0)
        await driver.stay(lambda: are_bound(driver, "p"), 30.0)

    run_on_cluster(scenario, gang_objects.nodes_of([2]), **OPTIONS)


def test_gang_beyond_its_quota_evicts_nothing() -> None:
    """b's min is three, which a has borrowed. A gang of four is above b's max; one of three gets them all."""

    async def scenario(driver: ClusterDriver) -> None:
        await begin(driver, a=(0, 3), b=(3, 3))
        await gang_objects.create(driver, *(gang_objects.pod(f"p{i}", "a") for i in range(3)))
        await driver.until(lambda: are_bound(driver, "p0", "p1", "p2"))
        await gang_objects.create(driver, *gang("b", "g", 4))
        await driver.stay(lambda: are_bound(driver, "p0", "p1", "p2"), 30.0)
        why = "not eligible due to quotas that its group as a whole does not fit into."
        assert why in await gang_objects.why_pending(driver, "g-3", "b")

        await gang_objects.create(driver, *gang("b", "h", 3))
        await driver.until(lambda: are_bound(driver, "h-0", "h-1", "h-2"), SOON_SECONDS)

    run_on_cluster(scenario, gang_objects.nodes_of([4]), **OPTIONS)


def test_gang_does_not_evict_within_the_min_of_others() -> None:
    """a uses one more than its min. Two members of b's gang would fit, the third would not: borrowed resources are
    reclaimed only for a gang that becomes complete by it.
    """

    async def scenario(driver: ClusterDriver) -> None:
        await begin(driver, a=(1, 3), b=(2, 3))
        await gang_objects.create(driver, *(gang_objects.pod(f"p{i}", "a") for i in range(2)))
        await driver.until(lambda: are_bound(driver, "p0", "p1"))
        await gang_objects.create(driver, *gang("b", "g", 3))
        await driver.stay(lambda: are_bound(driver, "p0", "p1"), 30.0)
        await driver.delete("v1", "pods", "p0", "a")
        await driver.delete("v1", "pods", "p1", "a")
        await driver.until(lambda: are_bound(driver, "g-0", "g-1", "g-2"), 2 * TIMEOUT_SECONDS)

    run_on_cluster(scenario, gang_objects.nodes_of([4]), **OPTIONS)
