"""Invalid PodGroups and ElasticQuotas, and ones that change while pods wait: messages, and effects on others."""

from __future__ import annotations

import pytest
from tests.integration.cluster import gang_objects
from tests.integration.cluster.cluster_driver import ClusterDriver, run_on_cluster

FAILED = ("Warning", "FailedScheduling")


async def settle(driver: ClusterDriver, *names: str) -> None:
    """Wait until exactly these pods are bound, and check that it stays so for a minute."""

    async def is_so() -> bool:
        return await gang_objects.bound(driver) == set(names)

    await driver.until(is_so)
    await driver.stay(is_so, seconds=60)


async def has_message(driver: ClusterDriver, name: str, text: str) -> bool:
    """Whether the condition PodScheduled and an event have the message."""
    said = [
        event
        for event in await gang_objects.events_about(driver, name)
        if event[:2] == FAILED and text in event[2]
    ]
    return text in await gang_objects.why_pending(driver, name) and bool(said)


def test_group_that_does_not_exist() -> None:
    """Its pods get the message and others are scheduled; once the group exists, its pods are scheduled too."""

    async def scenario(driver: ClusterDriver) -> None:
        await gang_objects.create(
            driver, *(gang_objects.pod(f"g-{i}", group="g") for i in range(2)), gang_objects.pod("other")
        )
        await settle(driver, "other")
        assert await has_message(driver, "g-0", "PodGroup not found")
        await gang_objects.create(driver, gang_objects.group("g", 2))
        await settle(driver, "other", "g-0", "g-1")

    run_on_cluster(scenario, gang_objects.nodes_of([2, 2]), **gang_objects.options())


@pytest.mark.parametrize(
    ("n_members", "text"),
    [
        pytest.param(
            3,
            "pre-filter pod g-0 cannot find enough sibling pods, current pods number: 3, minMember of group: 9",
            id="fewer pods than minMember",
        ),
        pytest.param(9, "gets rejected due to Pod", id="fewer places than minMember"),
    ],
)
def test_group_larger_than_any_cluster(n_members: int, text: str) -> None:
    """None of its pods is scheduled, they get the reason, and others use the nodes."""

    async def scenario(driver: ClusterDriver) -> None:
        members = [gang_objects.pod(f"g-{i}", group="g") for i in range(n_members)]
        await gang_objects.create(driver, gang_objects.group("g", 9), *members)
        await gang_objects.create(driver, *(gang_objects.pod(f"other-{i}") for i in range(4)))
        await settle(driver, *(f"other-{i}" for i in range(4)))
        said = [event for i in range(n_members) for event in await gang_objects.events_about(driver, f"g-{i}")]
        assert any(event[:2] == FAILED and text in event[2] for event in said)

    run_on_cluster(scenario, gang_objects.nodes_of([2, 2]), **gang_objects.options())


def test_group_whose_minimum_is_raised_while_members_wait() -> None:
    """Members wait for more pods, release their nodes at the timeout, and others take them."""

    async def scenario(driver: ClusterDriver) -> None:
        members = [
            gang_objects.pod("g-0", group="g"),
            gang_objects.pod("g-1", group="g"),
            gang_objects.pod("g-2", group="g", cpu=9),
        ]
        await gang_objects.create(driver, gang_objects.group("g", 3), *members)
        await driver.until(lambda: _are_held(driver, 2))
        await driver.patch(gang_objects.API_VERSION, "podgroups", "g", {"spec": {"minMember": 4}})
        await gang_objects.create(driver, gang_objects.pod("other-0"), gang_objects.pod("other-1"))
        await settle(driver, "other-0", "other-1")
        assert await has_message(driver, "g-0", "current pods number: 3, minMember of group: 4")
        await driver.delete("v1", "pods", "other-0")
        await driver.patch(gang_objects.API_VERSION, "podgroups", "g", {"spec": {"minMember": 2}})
        await settle(driver, "other-1", "g-0", "g-1")

    # The two that fit are not rejected because the third one does not: they wait.
    run_on_cluster(
        scenario, gang_objects.nodes_of([3]), **gang_objects.options(wait_seconds=20, reject_percentage=100)
    )


def test_group_that_is_deleted_while_members_wait() -> None:
    """Nodes are released and pods get the message; nothing of the old group counts for a new one of that name."""

    async def scenario(driver: ClusterDriver) -> None:
        members = [gang_objects.pod(f"g-{i}", group="g") for i in range(4)]
        await gang_objects.create(driver, gang_objects.group("g", 4), *members)
        await driver.until(lambda: _are_held(driver, 3))
        await driver.delete(gang_objects.API_VERSION, "podgroups", "g")
        await gang_objects.create(driver, *(gang_objects.pod(f"other-{i}") for i in range(3)))
        await settle(driver, "other-0", "other-1", "other-2")
        # One of them did not fit and has that message; the waiting ones were tried again without a group.
        reasons = [await gang_objects.why_pending(driver, f"g-{i}") for i in range(4)]
        assert sum("can not find pod group" in reason for reason in reasons) >= 3
        assert await has_message(driver, "g-0", "nodes are available")
        await gang_objects.create(driver, gang_objects.group("g", 4))
        await driver.stay(lambda: _are_bound(driver, 3), seconds=60)
        for i in range(3):
            await driver.delete("v1", "pods", f"other-{i}")
        await driver.delete("v1", "pods", "g-3")
        await driver.patch(gang_objects.API_VERSION, "podgroups", "g", {"spec": {"minMember": 3}})
        await settle(driver, "g-0", "g-1", "g-2")

    # No member is rejected because another one does not fit: they wait.
    run_on_cluster(
        scenario, gang_objects.nodes_of([2, 1]), **gang_objects.options(wait_seconds=20, reject_percentage=100)
    )


def test_deleted_member_with_a_finalizer_does_not_count() -> None:
    """A finalizer keeps a deleted member, which will never be scheduled, so the group is below its minimum:
    waiting members release their nodes for good, and others take them.
    """

    async def scenario(driver: ClusterDriver) -> None:
        members = [gang_objects.pod(f"g-{i}", group="g") for i in range(4)]
        members[0]["metadata"]["finalizers"] = ["example.com/keep"]
        await gang_objects.create(driver, gang_objects.group("g", 4), *members)
        await driver.until(lambda: _are_held(driver, 3))
        await driver.delete("v1", "pods", "g-0")
        await driver.stay(lambda: _are_bound(driver, 0), seconds=2)
        assert await _are_held(driver, 0)
        assert await has_message(driver, "g-1", "nodes are available")
        await gang_objects.create(driver, *(gang_objects.pod(f"other-{i}") for i in range(3)))
        await driver.until(lambda: _are_bound(driver, 3), seconds=60)
        await settle(driver, "other-0", "other-1", "other-2")

    # No member is rejected because another one does not fit, and they wait longer than this test runs.
    run_on_cluster(
        scenario, gang_objects.nodes_of([2, 1]), **gang_objects.options(wait_seconds=600, reject_percentage=100)
    )


async def _are_held(driver: ClusterDriver, count: int) -> bool:
    assert driver.cluster.scheduler is not None
    return len(list(driver.cluster.scheduler.core.waiting_pods)) == count


async def _are_bound(driver: ClusterDriver, count: int) -> bool:
    return len(await gang_objects.bound(driver)) == count


def test_quota_with_min_over_max() -> None:
    """The quota gets an event; its max holds, and other namespaces are not affected."""

    async def scenario(driver: ClusterDriver) -> None:
        await gang_objects.create(driver, gang_objects.namespace("team"), gang_objects.quota("team", 4, 2))
        await gang_objects.create(
            driver, *(gang_objects.pod(f"p-{i}", "team") for i in range(3)), gang_objects.pod("other")
        )
        await settle(driver, "p-0", "p-1", "other")
        assert "is more than Max" in await gang_objects.why_pending(driver, "p-2", "team")
        told = (
            "Warning",
            "InvalidQuota",
            "spec.min of cpu is above spec.max: the part above max can never be used",
        )
        assert told in await gang_objects.events_about(driver, "quota", "team")

    run_on_cluster(scenario, gang_objects.nodes_of([4, 4]), **gang_objects.options())


def test_two_quotas_in_a_namespace() -> None:
    """The older one counts, the other one gets an event; once the older one is deleted, the other counts."""

    async def scenario(driver: ClusterDriver) -> None:
        await gang_objects.create(
            driver, gang_objects.namespace("team"), gang_objects.quota("team", 1, 1, "z-first")
        )
        await driver.stay(lambda: _are_bound(driver, 0), seconds=2)
        await gang_objects.create(driver, gang_objects.quota("team", 3, 3, "a-second"))
        await gang_objects.create(
            driver, *(gang_objects.pod(f"p-{i}", "team") for i in range(4)), gang_objects.pod("other")
        )
        await settle(driver, "p-0", "other")
        told = ("Warning", "InvalidQuota", "The quota is ignored: a namespace has one quota, and z-first is older")
        assert told in await gang_objects.events_about(driver, "a-second", "team")
        await driver.delete(gang_objects.API_VERSION, "elasticquotas", "z-first", "team")
        await settle(driver, "p-0", "p-1", "p-2", "other")

    run_on_cluster(scenario, gang_objects.nodes_of([4, 4]), **gang_objects.options())
