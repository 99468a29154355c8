"""PodGroups and ElasticQuotas that are wrong or change midway: what is said, and that others go on."""

from __future__ import annotations

import pytest
from tests.integration.cluster import family
from tests.integration.cluster.story import World, tell

FAILED = ("Warning", "FailedScheduling")


async def settle(world: World, *names: str) -> None:
    """Until exactly these pods are on nodes, and for a minute after."""

    async def is_so() -> bool:
        return await family.bound(world) == set(names)

    await world.until(is_so)
    await world.stay(is_so, seconds=60)


async def is_told(world: World, name: str, text: str) -> bool:
    """In the condition PodScheduled, and by an event."""
    said = [event for event in await family.events_about(world, name) if event[:2] == FAILED and text in event[2]]
    return text in await family.why_pending(world, name) and bool(said)


def test_group_that_does_not_exist() -> None:
    """Its pods are told so, others are placed; when the group comes they are, too."""

    async def story(world: World) -> None:
        await family.create(world, *(family.pod(f"g-{i}", group="g") for i in range(2)), family.pod("other"))
        await settle(world, "other")
        assert await is_told(world, "g-0", "PodGroup not found")
        await family.create(world, family.group("g", 2))
        await settle(world, "other", "g-0", "g-1")

    tell(story, family.nodes_of([2, 2]), **family.options())


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
    """Nobody of it is placed, they are told why, and the places are for others."""

    async def story(world: World) -> None:
        members = [family.pod(f"g-{i}", group="g") for i in range(n_members)]
        await family.create(world, family.group("g", 9), *members)
        await family.create(world, *(family.pod(f"other-{i}") for i in range(4)))
        await settle(world, *(f"other-{i}" for i in range(4)))
        said = [event for i in range(n_members) for event in await family.events_about(world, f"g-{i}")]
        assert any(event[:2] == FAILED and text in event[2] for event in said)

    tell(story, family.nodes_of([2, 2]), **family.options())


def test_group_that_is_raised_while_members_wait() -> None:
    """They wait for more from then on, give their places back when their time is up, and others take them."""

    async def story(world: World) -> None:
        members = [family.pod("g-0", group="g"), family.pod("g-1", group="g"), family.pod("g-2", group="g", cpu=9)]
        await family.create(world, family.group("g", 3), *members)
        await world.until(lambda: _are_held(world, 2))
        await world.patch(family.API_VERSION, "podgroups", "g", {"spec": {"minMember": 4}})
        await family.create(world, family.pod("other-0"), family.pod("other-1"))
        await settle(world, "other-0", "other-1")
        assert await is_told(world, "g-0", "current pods number: 3, minMember of group: 4")
        await world.delete("v1", "pods", "other-0")
        await world.patch(family.API_VERSION, "podgroups", "g", {"spec": {"minMember": 2}})
        await settle(world, "other-1", "g-0", "g-1")

    # The two that fit are not rejected because the third one does not: they wait.
    tell(story, family.nodes_of([3]), **family.options(wait_seconds=20, reject_percentage=100))


def test_group_that_is_deleted_while_members_wait() -> None:
    """Places are given back and the pods are told; nothing of the old group counts for a new one of its name."""

    async def story(world: World) -> None:
        members = [family.pod(f"g-{i}", group="g") for i in range(4)]
        await family.create(world, family.group("g", 4), *members)
        await world.until(lambda: _are_held(world, 3))
        await world.delete(family.API_VERSION, "podgroups", "g")
        await family.create(world, *(family.pod(f"other-{i}") for i in range(3)))
        await settle(world, "other-0", "other-1", "other-2")
        # One of them did not fit, and was told that before; who waited was tried again without a group.
        reasons = [await family.why_pending(world, f"g-{i}") for i in range(4)]
        assert sum("can not find pod group" in reason for reason in reasons) >= 3
        assert await is_told(world, "g-0", "nodes are available")
        await family.create(world, family.group("g", 4))
        await world.stay(lambda: _are_bound(world, 3), seconds=60)
        for i in range(3):
            await world.delete("v1", "pods", f"other-{i}")
        await world.delete("v1", "pods", "g-3")
        await world.patch(family.API_VERSION, "podgroups", "g", {"spec": {"minMember": 3}})
        await settle(world, "g-0", "g-1", "g-2")

    # Nobody is rejected because another one finds no place: they wait.
    tell(story, family.nodes_of([2, 1]), **family.options(wait_seconds=20, reject_percentage=100))


def test_member_that_is_kept_from_going_does_not_count() -> None:
    """A finalizer keeps a member that was deleted. It will never have a node, so the group is below its minimum:
    those who waited with it give their places back for good, and others take them."""

    async def story(world: World) -> None:
        members = [family.pod(f"g-{i}", group="g") for i in range(4)]
        members[0]["metadata"]["finalizers"] = ["example.com/keep"]
        await family.create(world, family.group("g", 4), *members)
        await world.until(lambda: _are_held(world, 3))
        await world.delete("v1", "pods", "g-0")
        await world.stay(lambda: _are_bound(world, 0), seconds=2)
        assert await _are_held(world, 0)
        assert await is_told(world, "g-1", "nodes are available")
        await family.create(world, *(family.pod(f"other-{i}") for i in range(3)))
        await world.until(lambda: _are_bound(world, 3), seconds=60)
        await settle(world, "other-0", "other-1", "other-2")

    # Nobody is rejected because another one finds no place, and who waits does so for longer than we look.
    tell(story, family.nodes_of([2, 1]), **family.options(wait_seconds=600, reject_percentage=100))


async def _are_held(world: World, count: int) -> bool:
    assert world.cluster.scheduler is not None
    return len(list(world.cluster.scheduler.held)) == count


async def _are_bound(world: World, count: int) -> bool:
    return len(await family.bound(world)) == count


def test_quota_with_min_over_max() -> None:
    """The quota is told; its max holds, and other namespaces do not suffer."""

    async def story(world: World) -> None:
        await family.create(world, family.namespace("team"), family.quota("team", 4, 2))
        await family.create(world, *(family.pod(f"p-{i}", "team") for i in range(3)), family.pod("other"))
        await settle(world, "p-0", "p-1", "other")
        assert "is more than Max" in await family.why_pending(world, "p-2", "team")
        told = (
            "Warning",
            "InvalidQuota",
            "spec.min of cpu is above spec.max: what is above max can never be used",
        )
        assert told in await family.events_about(world, "quota", "team")

    tell(story, family.nodes_of([4, 4]), **family.options())


def test_two_quotas_in_a_namespace() -> None:
    """The older one counts, and the other one is told; when the older one goes, the other one counts."""

    async def story(world: World) -> None:
        await family.create(world, family.namespace("team"), family.quota("team", 1, 1, "z-first"))
        await world.stay(lambda: _are_bound(world, 0), seconds=2)
        await family.create(world, family.quota("team", 3, 3, "a-second"))
        await family.create(world, *(family.pod(f"p-{i}", "team") for i in range(4)), family.pod("other"))
        await settle(world, "p-0", "other")
        told = ("Warning", "InvalidQuota", "The quota is left out: a namespace has one, and z-first is older")
        assert told in await family.events_about(world, "a-second", "team")
        await world.delete(family.API_VERSION, "elasticquotas", "z-first", "team")
        await settle(world, "p-0", "p-1", "p-2", "other")

    tell(story, family.nodes_of([4, 4]), **family.options())
