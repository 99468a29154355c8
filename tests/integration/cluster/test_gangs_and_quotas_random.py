"""Invariants of random gangs and quotas on the embedded cluster, in virtual time."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.integration.cluster import gang_objects
from tests.integration.cluster.cluster_driver import ClusterDriver, Object, run_on_cluster

from bayplan.apiserver.cluster import Cluster
from bayplan.core.waiting_pods import WaitingPod
from bayplan.model import Pod
from bayplan.watch.informers import InformerFactory

TEAMS = ("team-a", "team-b")
NAMESPACES = (*TEAMS, "default")
PRIORITIES = (0, 1, 2)
TIMEOUT_SECONDS = 4
LOOK_SECONDS = 0.5
#: Longer than every backoff, and than the flush of unschedulable pods (five minutes, checked twice a minute).
CALM_SECONDS = 20.0
PATIENCE_SECONDS = 400.0


class Gang(NamedTuple):
    """Members request one cpu each, so that each free cpu fits one."""

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
    #: In the order of creation, with the seconds until the next one.
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
    """Follows the pods of a cluster, checks waiting pods twice a second, and collects violations."""

    def __init__(self, cluster: Cluster, scenario: Scenario) -> None:
        assert cluster.scheduler is not None
        self._held = cluster.scheduler.core.waiting_pods
        self._scenario = scenario
        #: Since when a member has been waiting at Permit; each attempt waits again.
        self._since: dict[WaitingPod, float] = {}
        #: Members that were ever bound, and those that are gone: a gang may lose members to preemption as soon as
        #: they have places.
        self._ever_bound: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._gone: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._above_max: list[str] = []
        self._informers = InformerFactory(cluster.client, cluster.clock)
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
        """Wait until nothing changes, and then longer while the final state is not reached."""
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
    name = pod.labels.get(gang_objects.LABEL)
    return (pod.namespace, name) if name else None


def could_be_reclaimed(scenario: Scenario, pod: Pod, bound: list[Pod]) -> str:
    """A node on which *pod*, within its namespace's min, fits without what other namespaces borrow."""
    quotas = scenario.quotas
    if pod.namespace not in quotas or used_by(bound, pod.namespace) + cpu_of(pod) > quotas[pod.namespace][0]:
        return ""
    for node, cpu in zip(gang_objects.nodes_of(scenario.nodes), scenario.nodes, strict=True):
        name = node["metadata"]["name"]
        left = without_borrowers(scenario, pod, name, bound)
        on_node = sum(cpu_of(each) for each in left if each.node_name == name)
        total = sum(used_by(left, team) for team in quotas)
        if on_node + cpu_of(pod) <= cpu and total + cpu_of(pod) <= sum(low for low, _ in quotas.values()):
            return str(name)
    return ""


def waiting_for_borrowers(scenario: Scenario, watcher: Watcher) -> dict[str, str]:
    """Pods that wait for borrowed resources, and the nodes of these. Members of gangs do not count: they have no
    claim before the others are placed.
    """
    singles = [pod for pod in watcher.pending if not group_of(pod)]
    return {pod.key: node for pod in singles if (node := could_be_reclaimed(scenario, pod, watcher.bound))}


def without_borrowers(scenario: Scenario, pod: Pod, node_name: str, bound: list[Pod]) -> list[Pod]:
    """What is left if other namespaces return, on one node, what they use above min; whole pods only."""
    left = list(bound)
    for other in sorted(bound, key=lambda each: each.priority):
        low = scenario.quotas.get(other.namespace, (0, 0))[0]
        is_other = other.namespace in scenario.quotas and other.namespace != pod.namespace
        if is_other and other.node_name == node_name and used_by(left, other.namespace) > low:
            left.remove(other)
    return left


def unscheduled_that_fit(scenario: Scenario, pending: list[Pod]) -> list[str]:
    """The waiting pods that would fit into an empty cluster."""
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


def has_progress(scenario: Scenario, watcher: Watcher) -> bool:
    """Whether some pod is placed, or none could be. None is while gangs that do not fit hold nodes, possibly one
    after the other.
    """
    return bool(watcher.bound) or not unscheduled_that_fit(scenario, watcher.pending)


def objects_of(arrival: Gang | Single) -> list[Object]:
    name, space, priority = arrival.name, arrival.namespace, arrival.priority
    if isinstance(arrival, Single):
        return [gang_objects.pod(name, space, cpu=arrival.cpu, priority=priority)]
    members = [
        gang_objects.pod(f"{name}-{i}", space, group=name, priority=priority) for i in range(arrival.n_members)
    ]
    return [gang_objects.group(name, arrival.min_member, space), *members]


async def play(driver: ClusterDriver, scenario: Scenario) -> None:
    await gang_objects.create(
        driver, *map(gang_objects.namespace, TEAMS), *map(gang_objects.priority_class, PRIORITIES)
    )
    await gang_objects.create(
        driver, *(gang_objects.quota(team, *amounts) for team, amounts in scenario.quotas.items())
    )
    async with Watcher(driver.cluster, scenario) as watcher:
        for arrival, pause in scenario.arrivals:
            await gang_objects.create(driver, *objects_of(arrival))
            await watcher.run(pause)
        await watcher.settle(lambda: not waiting_for_borrowers(scenario, watcher))
        assert waiting_for_borrowers(scenario, watcher) == {}

        await watcher.settle(lambda: has_progress(scenario, watcher))
        while watcher.bound:
            await finish(driver, watcher.bound)
            await watcher.settle(lambda: has_progress(scenario, watcher))
        assert unscheduled_that_fit(scenario, watcher.pending) == []


async def finish(driver: ClusterDriver, pods: list[Pod]) -> None:
    for pod in pods:
        await driver.delete("v1", "pods", pod.name, pod.namespace)


#: A gang of team-b needs three cpus, can get one, evicts a pod of team-a for it, and gives up.
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


#: g6 needs four and can never have them, g8 needs all three cpus; neither may evict what the other holds.
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

#: g1 evicts what g3 holds, and g0, which never fits and has the highest priority, must not go first.
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

#: p6 needs the node of a pod that releases it at the same moment.
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
def test_invariants_of_random_gangs_and_quotas(scenario: Scenario) -> None:
    """No incomplete gang holds nodes beyond its timeout; no namespace is above max; no borrower keeps what another
    namespace's min guarantees and needs; and whatever fits alone is scheduled in the end.
    """
    options = gang_objects.options(wait_seconds=TIMEOUT_SECONDS, reject_percentage=scenario.reject_percentage)
    run_on_cluster(lambda driver: play(driver, scenario), gang_objects.nodes_of(scenario.nodes), **options)
