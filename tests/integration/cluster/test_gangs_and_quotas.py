"""Random gangs and quotas on the embedded cluster, in virtual time: what holds whatever comes."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.integration.cluster import family
from tests.integration.cluster.story import Object, World, tell

from bayplan.apiserver.cluster import Cluster
from bayplan.cycle.waiting import HeldPod
from bayplan.model import Pod
from bayplan.watch.informers import Informers

TEAMS = ("team-a", "team-b")
NAMESPACES = (*TEAMS, "default")
PRIORITIES = (0, 1, 2)
TIMEOUT_SECONDS = 4
LOOK_SECONDS = 0.5
#: Enough for every backoff; and for pods that no event wakes (five minutes, looked for twice a minute).
CALM_SECONDS = 20.0
PATIENCE_SECONDS = 400.0


class Gang(NamedTuple):
    """Members want one cpu each, so that so many fit wherever so many are free."""

    name: str
    namespace: str
    n_members: int
    min_member: int
    priority: int


class Single(NamedTuple):
    """A pod without a gang."""

    name: str
    namespace: str
    cpu: int
    priority: int


@dataclass(frozen=True)
class Scenario:
    #: cpu of each node.
    nodes: list[int]
    #: Namespace → cpu: min and max. The namespace default has none.
    quotas: dict[str, tuple[int, int]]
    #: In the order in which they come, and seconds until the next one.
    arrivals: list[tuple[Gang | Single, float]]
    reject_percentage: int

    @property
    def gangs(self) -> dict[tuple[str, str], Gang]:
        return {(each.namespace, each.name): each for each, _ in self.arrivals if isinstance(each, Gang)}

    def largest(self, namespace: str) -> int:
        """How many cpus a namespace can use if it is alone."""
        if namespace not in self.quotas:
            return sum(self.nodes)
        total_min = sum(low for low, _ in self.quotas.values())
        return min(sum(self.nodes), self.quotas[namespace][1], total_min)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    quotas = {}
    for team in TEAMS:
        low = draw(st.integers(0, 6))
        quotas[team] = (low, draw(st.integers(low, 9)))
    pauses = st.sampled_from([0.0, 0.3, 10.0])
    arrivals: list[tuple[Gang | Single, float]] = []
    for number in range(draw(st.integers(2, 9))):
        space, priority = draw(st.sampled_from(NAMESPACES)), draw(st.sampled_from(PRIORITIES))
        if draw(st.booleans()):
            size = draw(st.integers(1, 5))
            arrival: Gang | Single = Gang(f"g{number}", space, size, draw(st.integers(1, size)), priority)
        else:
            arrival = Single(f"p{number}", space, draw(st.integers(1, 4)), priority)
        arrivals.append((arrival, draw(pauses)))
    nodes = draw(st.lists(st.integers(2, 6), min_size=1, max_size=3))
    return Scenario(nodes, quotas, arrivals, draw(st.sampled_from([0, 10, 100])))


class Watcher:
    """Follows the pods of a cluster, looks twice a second who waits, and complains."""

    def __init__(self, cluster: Cluster, scenario: Scenario) -> None:
        assert cluster.scheduler is not None
        self._held = cluster.scheduler.held
        self._scenario = scenario
        #: Since when somebody has been seen waiting at Permit; each attempt waits anew.
        self._since: dict[HeldPod, float] = {}
        #: Members that were ever bound, and those that are gone: a gang may lose members to preemption as soon as
        #: they have places.
        self._ever_bound: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._gone: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._above_max: list[str] = []
        self._informers = Informers(cluster.client, cluster.clock)
        self._pods = self._informers.lister(Pod)
        self._pods.add(self._pod_changed)

    async def __aenter__(self) -> Self:
        self._informers.start()
        await self._informers.wait_synced()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._informers.stop()

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            if old is not None and (key := group_of(old)):
                self._gone[key].add(old.name)
            return
        if not new.node_name:
            return
        if key := group_of(new):
            self._ever_bound[key].add(new.name)
        high = self._scenario.quotas.get(new.namespace, (0, sum(self._scenario.nodes)))[1]
        if used_by(self.bound, new.namespace) > high:
            self._above_max.append(new.key)

    async def run(self, seconds: float) -> None:
        """Let time pass."""
        for _ in range(max(1, round(seconds / LOOK_SECONDS))):
            await asyncio.sleep(LOOK_SECONDS)
            assert self._above_max == []
            assert self._late() == []
            assert self._half_gangs() == []

    async def settle(self, is_done: Callable[[], bool]) -> None:
        """Let things calm down, and then more time pass while they are not as they should be in the end."""
        await self.run(CALM_SECONDS)
        for _ in range(round(PATIENCE_SECONDS / CALM_SECONDS)):
            if not is_done():
                await self.run(CALM_SECONDS)

    @property
    def bound(self) -> list[Pod]:
        return [pod for pod in self._pods.list() if pod.node_name]

    @property
    def pending(self) -> list[Pod]:
        return [pod for pod in self._pods.list() if not pod.node_name]

    def _late(self) -> list[str]:
        now = asyncio.get_running_loop().time()
        self._since = {held: self._since.get(held, now) for held in self._held}
        return [held.pod.key for held, since in self._since.items() if now - since > TIMEOUT_SECONDS]

    def _half_gangs(self) -> list[tuple[str, str]]:
        gangs = self._scenario.gangs
        return [
            key for key, names in self._ever_bound.items() if len(names | self._gone[key]) < gangs[key].min_member
        ]


def cpu_of(pod: Pod) -> int:
    return pod.requests["cpu"] // 1000


def used_by(pods: list[Pod], namespace: str) -> int:
    return sum(cpu_of(pod) for pod in pods if pod.namespace == namespace)


def group_of(pod: Pod) -> tuple[str, str] | None:
    name = pod.labels.get(family.LABEL)
    return (pod.namespace, name) if name else None


def could_be_reclaimed(scenario: Scenario, pod: Pod, bound: list[Pod]) -> str:
    """A node on which *pod*, which its namespace is sure of, fits without what other namespaces borrow."""
    quotas = scenario.quotas
    if pod.namespace not in quotas or used_by(bound, pod.namespace) + cpu_of(pod) > quotas[pod.namespace][0]:
        return ""
    for node, cpu in zip(family.nodes_of(scenario.nodes), scenario.nodes, strict=True):
        name = node["metadata"]["name"]
        left = without_borrowers(scenario, pod, name, bound)
        on_node = sum(cpu_of(each) for each in left if each.node_name == name)
        total = sum(used_by(left, team) for team in quotas)
        if on_node + cpu_of(pod) <= cpu and total + cpu_of(pod) <= sum(low for low, _ in quotas.values()):
            return str(name)
    return ""


def kept_from(scenario: Scenario, watcher: Watcher) -> dict[str, str]:
    """Pods that wait for what others borrow, and where that is. Members of gangs do not count: they have no claim
    before the others have a place."""
    singles = [pod for pod in watcher.pending if not group_of(pod)]
    return {pod.key: node for pod in singles if (node := could_be_reclaimed(scenario, pod, watcher.bound))}


def without_borrowers(scenario: Scenario, pod: Pod, node_name: str, bound: list[Pod]) -> list[Pod]:
    """What is left if other namespaces give back, on one node, what they use above min; whole pods only."""
    left = list(bound)
    for other in sorted(bound, key=lambda each: each.priority):
        low = scenario.quotas.get(other.namespace, (0, 0))[0]
        is_other = other.namespace in scenario.quotas and other.namespace != pod.namespace
        if is_other and other.node_name == node_name and used_by(left, other.namespace) > low:
            left.remove(other)
    return left


def forgotten(scenario: Scenario, pending: list[Pod]) -> list[str]:
    """Of pods that wait in an empty cluster: those that would fit."""
    singles = [pod for pod in pending if not group_of(pod)]
    members = Counter(key for pod in pending if (key := group_of(pod)))
    fitting = [
        pod.key for pod in singles if cpu_of(pod) <= min(max(scenario.nodes), scenario.largest(pod.namespace))
    ]
    return fitting + [
        "/".join(key)
        for key, count in members.items()
        if count >= (least := scenario.gangs[key].min_member) and least <= scenario.largest(key[0])
    ]


def is_served(scenario: Scenario, watcher: Watcher) -> bool:
    """Whether somebody has a place, or nobody could. Nobody has one while a gang that does not fit holds places;
    some of them may do so one after the other."""
    return bool(watcher.bound) or not forgotten(scenario, watcher.pending)


def objects_of(arrival: Gang | Single) -> list[Object]:
    name, space, priority = arrival.name, arrival.namespace, arrival.priority
    if isinstance(arrival, Single):
        return [family.pod(name, space, cpu=arrival.cpu, priority=priority)]
    members = [family.pod(f"{name}-{i}", space, group=name, priority=priority) for i in range(arrival.n_members)]
    return [family.group(name, arrival.min_member, space), *members]


async def play(world: World, scenario: Scenario) -> None:
    await family.create(world, *map(family.namespace, TEAMS), *map(family.priority_class, PRIORITIES))
    await family.create(world, *(family.quota(team, *amounts) for team, amounts in scenario.quotas.items()))
    async with Watcher(world.cluster, scenario) as watcher:
        for arrival, pause in scenario.arrivals:
            await family.create(world, *objects_of(arrival))
            await watcher.run(pause)
        await watcher.settle(lambda: not kept_from(scenario, watcher))
        assert kept_from(scenario, watcher) == {}

        await watcher.settle(lambda: is_served(scenario, watcher))
        while watcher.bound:
            await finish(world, watcher.bound)
            await watcher.settle(lambda: is_served(scenario, watcher))
        assert forgotten(scenario, watcher.pending) == []


async def finish(world: World, pods: list[Pod]) -> None:
    for pod in pods:
        await world.delete("v1", "pods", pod.name, pod.namespace)


#: A gang of team-b needs three cpus and can have one, evicts for it what team-a runs there, and gives up.
EVICTING_IN_VAIN = Scenario(
    nodes=[2],
    quotas={"team-a": (0, 5), "team-b": (1, 8)},
    arrivals=[
        (Gang("g0", "team-a", n_members=5, min_member=1, priority=2), 0.0),
        (Single("p1", "team-a", cpu=3, priority=0), 0.0),
        (Gang("g2", "team-a", n_members=1, min_member=1, priority=0), 0.0),
        (Gang("g3", "team-a", n_members=3, min_member=1, priority=0), 0.0),
        (Gang("g4", "team-b", n_members=4, min_member=3, priority=0), 0.0),
        (Gang("g5", "team-a", n_members=3, min_member=1, priority=0), 0.0),
        (Single("p6", "team-a", cpu=1, priority=0), 0.0),
        (Single("p7", "team-a", cpu=1, priority=0), 0.0),
        (Single("p8", "team-a", cpu=1, priority=0), 0.0),
    ],
    reject_percentage=100,
)


#: g6 needs four and can never have them, g8 needs all three there are; neither may evict what the other holds.
EVICTING_EACH_OTHER = Scenario(
    nodes=[4, 5],
    quotas={"team-a": (1, 4), "team-b": (2, 9)},
    arrivals=[
        (Gang("g0", "team-b", n_members=3, min_member=2, priority=2), 0.0),
        (Single("p1", "team-b", cpu=1, priority=2), 10.0),
        (Single("p2", "team-a", cpu=2, priority=1), 0.0),
        (Gang("g3", "default", n_members=3, min_member=1, priority=1), 0.0),
        (Single("p4", "team-a", cpu=1, priority=2), 0.3),
        (Single("p5", "default", cpu=1, priority=0), 0.3),
        (Gang("g6", "team-a", n_members=4, min_member=4, priority=2), 0.0),
        (Single("p7", "team-a", cpu=3, priority=2), 0.3),
        (Gang("g8", "team-b", n_members=3, min_member=3, priority=2), 0.0),
    ],
    reject_percentage=100,
)

#: g1 evicts what g3 holds, and g0, which never fits and has the highest priority, must not come before it.
WAKING_THE_FIRST = Scenario(
    nodes=[4],
    quotas={"team-a": (0, 1), "team-b": (2, 3)},
    arrivals=[
        (Gang("g0", "default", n_members=5, min_member=5, priority=2), 0.3),
        (Gang("g1", "team-b", n_members=4, min_member=2, priority=1), 0.3),
        (Single("p2", "team-b", cpu=3, priority=1), 0.0),
        (Gang("g3", "team-a", n_members=5, min_member=3, priority=1), 0.0),
        (Single("p4", "team-a", cpu=3, priority=0), 0.0),
        (Single("p5", "team-b", cpu=3, priority=0), 0.3),
        (Gang("g6", "team-a", n_members=4, min_member=4, priority=0), 0.0),
    ],
    reject_percentage=100,
)

#: p6 wants the place of one that gives it back at the same moment.
EVICTING_WHO_LEAVES = Scenario(
    nodes=[6],
    quotas={"team-a": (0, 1), "team-b": (1, 2)},
    arrivals=[
        (Gang("g0", "team-a", n_members=3, min_member=2, priority=0), 0.3),
        (Gang("g1", "team-a", n_members=4, min_member=2, priority=2), 0.3),
        (Gang("g2", "team-a", n_members=1, min_member=1, priority=1), 0.3),
        (Gang("g3", "team-a", n_members=4, min_member=3, priority=0), 0.0),
        (Single("p4", "team-b", cpu=3, priority=2), 0.0),
        (Gang("g5", "team-a", n_members=3, min_member=2, priority=2), 0.3),
        (Single("p6", "team-b", cpu=1, priority=0), 0.3),
        (Gang("g7", "team-a", n_members=5, min_member=3, priority=1), 0.3),
        (Single("p8", "team-b", cpu=1, priority=0), 10.0),
    ],
    reject_percentage=0,
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios())
@example(EVICTING_IN_VAIN)
@example(EVICTING_EACH_OTHER)
@example(WAKING_THE_FIRST)
@example(EVICTING_WHO_LEAVES)
def test_gangs_are_whole_quotas_hold_and_nobody_is_forgotten(scenario: Scenario) -> None:
    """No gang holds places beyond its timeout without being whole; no namespace is above max; no borrower keeps
    what another namespace is sure of and wants; and whatever fits alone is placed in the end."""
    options = family.options(wait_seconds=TIMEOUT_SECONDS, reject_percentage=scenario.reject_percentage)
    tell(lambda world: play(world, scenario), family.nodes_of(scenario.nodes), **options)
