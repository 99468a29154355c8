"""`python -m bench.several`: simulates several scheduler processes on one cluster, with real decisions.

Every process is a real `SchedulerCore` with its own view of the cluster. The time between them is simulated: the
API server takes binds one after the other, and other processes learn of a bind only through the watch. If a node
is given more than it can hold, its kubelet rejects the pod, and the pod starts again. What a pod costs a process,
and how many binds per second the API server takes, is measured by `make bench-e2e`; the delay of a watch is an
assumption.
"""

from __future__ import annotations

import heapq
import itertools
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import click

from bayplan import config
from bayplan.core import SchedulerCore
from bayplan.model import Node, Pod
from bayplan.scheduler import default_registry, new_core
from bench.workload import Workload, load_workload

SHARD_LABEL = "bayplan.dev/shard"
#: The scoring strategies: bin packing, and the default, which spreads.
PACKING = "MostAllocated"
SPREADING = "LeastAllocated"


class Costs(NamedTuple):
    """Costs in seconds."""

    #: CPU of a process for a pod that it places: decision, bind, event, watch.
    own_pod: float
    #: CPU of a process for a pod of another process, which it decodes and counts.
    others_pod: float
    #: Time of the API server for a bind with its event.
    bind: float
    #: From the bind until the other processes know of it.
    watch: float


class Outcome(NamedTuple):
    """One line of the table."""

    split: str
    strategy: str
    processes: int
    pods_per_second: float
    #: Shares of the pods: rejected by a kubelet, left without a node.
    rejected: float
    without_node: float

    @staticmethod
    def heading() -> str:
        return f"{'split by':<10}{'scoring':<16}{'processes':>10}{'pods/s':>9}{'rejected':>13}{'no node':>9}"

    def row(self) -> str:
        return (
            f"{self.split:<10}{self.strategy:<16}{self.processes:>10}{self.pods_per_second:>9,.0f}"
            f"{self.rejected:>13.2%}{self.without_node:>9.2%}"
        )


class Ledger:
    """The actual free capacity of the nodes."""

    def __init__(self, nodes: list[Node]) -> None:
        self._room = {node.name: Counter(node.allocatable) for node in nodes}

    def take(self, pod: Pod, node_name: str) -> bool:
        """Whether the kubelet accepts the pod."""
        room, needed = self._room[node_name], Counter({**pod.requests, "pods": 1})
        if any(amount > room[name] for name, amount in needed.items()):
            return False
        room.subtract(needed)
        return True


class Simulation:
    """Several processes, one API server, and a queue of pods for each process."""

    def __init__(
        self,
        workload: Workload,
        split: str,
        strategy: str,
        *,
        processes: int,
        nodes: int,
        fill: float,
        costs: Costs,
    ) -> None:
        self._workload, self._costs = workload, costs
        shards = processes if split == "nodes" else 1
        made = [_with_shard(workload.node(i), i % shards) for i in range(nodes)]
        self._ledger = Ledger(made)
        self._schedulers = [
            _scheduler(strategy, made, i % shards if shards > 1 else None) for i in range(processes)
        ]
        self._queues: list[deque[Pod]] = [deque() for _ in range(processes)]
        self.n_pods = 0
        for pod in _pods_for(workload, made, fill):
            self._queues[self.n_pods % processes].append(pod)
            self.n_pods += 1
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._busy_until = [0.0] * processes
        self._server_free = self._now = self._last_bind = 0.0
        self.n_rejected = self.n_without_node = 0

    @property
    def seconds(self) -> float:
        """Until the last bind."""
        return self._last_bind

    def run(self) -> None:
        for process in range(len(self._queues)):
            self._at(0.0, lambda process=process: self._turn(process))  # type: ignore[misc]
        while self._agenda:
            self._now, _, act = heapq.heappop(self._agenda)
            act()

    def _at(self, time: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (time, next(self._order), act))

    def _turn(self, process: int) -> None:
        """The process decides its next pod, as soon as it is idle."""
        if self._busy_until[process] > self._now:
            self._at(self._busy_until[process], lambda: self._turn(process))
            return
        if not self._queues[process]:
            return
        pod = self._queues[process].popleft()
        scheduler = self._schedulers[process]
        decision = scheduler.decide(pod)
        self._busy_until[process] = self._now + self._costs.own_pod
        if decision.node_name:
            scheduler.cache.assume(pod, decision.node_name)
            self._send(process, pod, decision.node_name)
        else:
            self.n_without_node += 1
        self._at(self._busy_until[process], lambda: self._turn(process))

    def _send(self, process: int, pod: Pod, node_name: str) -> None:
        self._server_free = max(self._server_free, self._busy_until[process]) + self._costs.bind
        self._at(self._server_free, lambda: self._bound(process, pod, node_name))

    def _bound(self, process: int, pod: Pod, node_name: str) -> None:
        self._last_bind = self._now
        is_taken = self._ledger.take(pod, node_name)
        self._at(self._now + self._costs.watch, lambda: self._tell(process, pod, node_name, is_taken))

    def _tell(self, process: int, pod: Pod, node_name: str, is_taken: bool) -> None:
        """Deliver the watch event to all processes; a rejected pod is queued again."""
        for other, scheduler in enumerate(self._schedulers):
            if other != process:
                self._busy_until[other] = max(self._busy_until[other], self._now) + self._costs.others_pod
                if is_taken:
                    scheduler.cache.add_pod(_placed(pod, node_name))
        if not is_taken:
            self.n_rejected += 1
            self._schedulers[process].cache.forget(pod.uid)
            self._queues[process].append(pod)
            self._at(self._now, lambda: self._turn(process))


def _scheduler(strategy: str, nodes: list[Node], shard: int | None) -> SchedulerCore:
    registry = default_registry()
    scheduler = new_core(
        config.load(_configuration(strategy, shard), source="simulation", catalogue=registry),
        registry,
        seed=shard or 0,
    )
    for node in nodes:
        scheduler.cache.set_node(node)
    return scheduler


def _configuration(strategy: str, shard: int | None) -> str:
    """The configuration of a process: its shard is a label of nodes, and an affinity added to every pod."""
    text = f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {{type: {strategy}, resources: [{{name: cpu, weight: 1}}, {{name: memory, weight: 1}}]}}
"""
    if shard is None:
        return text
    return f"""{text.rstrip()}
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions: [{{key: {SHARD_LABEL}, operator: In, values: ["{shard}"]}}]
"""


def _with_shard(node: Node, shard: int) -> Node:
    content = node.to_dict()
    content["metadata"]["labels"][SHARD_LABEL] = str(shard)
    return Node.from_dict(content)


def _placed(pod: Pod, node_name: str) -> Pod:
    content = pod.to_dict()
    content["spec"]["nodeName"] = node_name
    return Pod.from_dict(content)


def _pods_for(workload: Workload, nodes: list[Node], fill: float) -> Iterator[Pod]:
    """As many pods as use the share *fill* of the scarcest resource."""
    left = Counter({name: fill * sum(node.allocatable[name] for node in nodes) for name in nodes[0].allocatable})
    for i in itertools.count():
        pod = workload.make_pod(i, i % workload.apps)
        left.subtract({**pod.requests, "pods": 1})
        if min(left.values()) < 0:
            return
        yield pod


@click.command()
@click.option("--processes", "counts", multiple=True, type=int, default=(1, 2, 4, 8), show_default=True)
@click.option("--nodes", default=500, show_default=True)
@click.option("--fill", default=0.95, show_default=True, help="The share of the cluster that the pods fill.")
@click.option("--workload", "name", default="mixed", show_default=True)
@click.option("--pod-ms", default=0.6, show_default=True, help="CPU of a process for its own pod.")
@click.option("--heard-ms", default=0.08, show_default=True, help="CPU of a process for a pod of another process.")
@click.option("--binds-per-second", default=5_000.0, show_default=True, help="Throughput of the API server.")
@click.option("--watch-ms", default=10.0, show_default=True, help="Delay until other processes know of a bind.")
def main(
    counts: tuple[int, ...],
    nodes: int,
    fill: float,
    name: str,
    pod_ms: float,
    heard_ms: float,
    binds_per_second: float,
    watch_ms: float,
) -> None:
    """Simulate processes that share one cluster, split by pods (each sees all nodes) or by nodes."""
    logging.getLogger("bayplan").setLevel(logging.ERROR)  # plugins may be slow on a busy machine
    costs = Costs(pod_ms / 1e3, heard_ms / 1e3, 1 / binds_per_second, watch_ms / 1e3)
    workload = load_workload(name)
    click.echo(Outcome.heading())
    for strategy in (SPREADING, PACKING):
        for split in ("pods", "nodes"):
            for processes in counts:
                if split == "nodes" and processes == 1:
                    continue
                simulation = Simulation(
                    workload, split, strategy, processes=processes, nodes=nodes, fill=fill, costs=costs
                )
                simulation.run()
                seconds, n_pods = simulation.seconds, simulation.n_pods
                outcome = Outcome(
                    split,
                    strategy,
                    processes,
                    (n_pods - simulation.n_without_node) / seconds,
                    simulation.n_rejected / n_pods,
                    simulation.n_without_node / n_pods,
                )
                click.echo(outcome.row())


if __name__ == "__main__":
    main()
