"""Gangs of namespaces with quotas: what a gang that is not whole yet may take from others, and what from it."""

from __future__ import annotations

from tests.integration.cluster import family
from tests.integration.cluster.story import Object, World, tell

#: How long members wait at Permit.
TIMEOUT_SECONDS = 4
#: Less than that: nothing has happened because of a timeout.
SOON_SECONDS = 3.0
OPTIONS = family.options(wait_seconds=TIMEOUT_SECONDS, reject_percentage=100)


def gang(namespace: str, name: str, size: int, *, priority: int = 0) -> list[Object]:
    """All of *size* are needed; one cpu each."""
    members = [family.pod(f"{name}-{i}", namespace, group=name, priority=priority) for i in range(size)]
    return [family.group(name, size, namespace), *members]


async def begin(world: World, **quotas: tuple[int, int]) -> None:
    """Namespaces by the names of their quotas; cpu, min and max."""
    await family.create(world, *(family.namespace(name) for name in quotas), family.priority_class(2))
    await family.create(world, *(family.quota(name, *amounts) for name, amounts in quotas.items()))


async def are_bound(world: World, *names: str) -> bool:
    return await family.bound(world) == set(names)


async def preempted(world: World, namespace: str) -> set[str]:
    items = (await world.cluster.get(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"))["items"]
    return {each["regarding"]["name"] for each in items if each["reason"] == "Preempted"}


def test_gang_that_must_wait_spares_those_who_wait() -> None:
    """b could evict a's members, which borrow, but it would have to wait in their place. It gets them when a gives
    up, and a does not take them back."""

    async def story(world: World) -> None:
        await begin(world, a=(0, 4), b=(4, 4))
        await family.create(world, *gang("a", "g", 4))
        await world.stay(lambda: are_bound(world), 1.0)
        await family.create(world, *gang("b", "h", 2))
        await world.until(lambda: are_bound(world, "h-0", "h-1"), 2 * TIMEOUT_SECONDS)
        await world.stay(lambda: are_bound(world, "h-0", "h-1"), 30.0)
        assert await preempted(world, "a") == set()

    tell(story, family.nodes_of([3]), **OPTIONS)


def test_gang_takes_from_those_it_spared_when_they_are_bound() -> None:
    """They wait for one that may only go where nobody else may, and its node gets the label late. Nothing but that
    they are bound is news for the other gang, which is sure of what they have borrowed."""
    only = {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"for": "the-last"}}
    open_node, closed_node = family.nodes_of([2, 1])
    closed_node["spec"] = {**closed_node.get("spec", {}), "taints": [{"key": "closed", "effect": "NoSchedule"}]}

    async def story(world: World) -> None:
        await begin(world, a=(0, 9), b=(9, 9))
        group, *members = gang("a", "g", 3)
        members[0]["spec"].update(only)
        await family.create(world, group, *members)
        # One more than are needed, so that none of those who stay lacked the others when it was tried.
        group, *members = gang("b", "h", 2)
        await family.create(world, group, family.pod("h-early", "b", group="h"), *members)
        await world.delete("v1", "pods", "h-early", "b")
        await world.stay(lambda: are_bound(world), 1.0)
        label = {"metadata": {"labels": only["nodeSelector"]}}
        await world.client.request("PATCH", f"/api/v1/nodes/{closed_node['metadata']['name']}", label)
        await world.until(lambda: are_bound(world, "g-0", "h-0", "h-1"), SOON_SECONDS - 1.0)

    tell(story, [open_node, closed_node], **OPTIONS)


def test_pod_gets_the_place_of_a_waiting_gang_of_higher_priority() -> None:
    """It is sure of it, and the gang is not tried again before it."""

    async def story(world: World) -> None:
        await begin(world, a=(0, 2), b=(2, 2))
        await family.create(world, *gang("a", "g", 3, priority=2))
        await world.stay(lambda: are_bound(world), 1.0)
        await family.create(world, family.pod("p", "b", cpu=2))
        await world.until(lambda: are_bound(world, "p"), SOON_SECONDS - 1.0)
        await world.stay(lambda: are_bound(world, "p"), 30.0)

    tell(story, family.nodes_of([2]), **OPTIONS)


def test_gang_that_quotas_do_not_let_be_whole_evicts_nobody() -> None:
    """b is sure of three, and a has borrowed them. A gang of four is above b's max; one of three gets them all."""

    async def story(world: World) -> None:
        await begin(world, a=(0, 3), b=(3, 3))
        await family.create(world, *(family.pod(f"p{i}", "a") for i in range(3)))
        await world.until(lambda: are_bound(world, "p0", "p1", "p2"))
        await family.create(world, *gang("b", "g", 4))
        await world.stay(lambda: are_bound(world, "p0", "p1", "p2"), 30.0)
        why = "not eligible due to quotas that its group as a whole does not fit into."
        assert why in await family.why_pending(world, "g-3", "b")

        await family.create(world, *gang("b", "h", 3))
        await world.until(lambda: are_bound(world, "h-0", "h-1", "h-2"), SOON_SECONDS)

    tell(story, family.nodes_of([4]), **OPTIONS)


def test_gang_leaves_others_what_they_are_sure_of() -> None:
    """a uses one more than it is sure of. Two members of b's gang could have a place each, the third none: what is
    lent is taken back for a gang that is whole with it, and not before."""

    async def story(world: World) -> None:
        await begin(world, a=(1, 3), b=(2, 3))
        await family.create(world, *(family.pod(f"p{i}", "a") for i in range(2)))
        await world.until(lambda: are_bound(world, "p0", "p1"))
        await family.create(world, *gang("b", "g", 3))
        await world.stay(lambda: are_bound(world, "p0", "p1"), 30.0)
        await world.delete("v1", "pods", "p0", "a")
        await world.delete("v1", "pods", "p1", "a")
        await world.until(lambda: are_bound(world, "g-0", "g-1", "g-2"), 2 * TIMEOUT_SECONDS)

    tell(story, family.nodes_of([4]), **OPTIONS)
