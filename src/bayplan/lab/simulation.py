"""Simulation: a trace, a configuration and plugins in, what happened out. Virtual time, the real scheduler.

The same trace, configuration and seed give the same results, byte for byte.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayplan.lab.gpu_demand import node_gpu_milli, pod_gpu_milli
from bayplan.lab.measurement import Measurement
from bayplan.lab.tie_breakers import TIE_BREAKERS, Ties
from bayplan.lab.trace import NodeDeparture, ObjectArrival, PodArrival, Trace, TraceError
from bayplan.lab.workload import AS_RECORDED, WorkloadOptions
from bayplan.model import CPU, KubeObject, Node, Pod
from bayplan.shell.played_cluster import PlayedCluster, Timing
from bayplan.testing.harness import prepared

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.framework import Plugin, Registry
    from bayplan.lab.results import Results
    from bayplan.queue import QueuedPodInfo

#: How many entries of the trace are done, and how many there are.
Progress = Callable[[int, int], None]
#: All GPUs of a pod or node together, shared ones included, in messages.
GPU: Final = "gpu"
#: The trace begins at this time of the clock.
START: Final = 1_700_000_000.0


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """What is not in the trace or in the configuration."""

    seed: int = 0
    ties: Ties = "random"
    workload: WorkloadOptions = AS_RECORDED
    #: False: a pod that does not fit when it comes leaves at once.
    retries: bool = True
    #: How much simulated time an attempt takes.
    attempt_seconds: float = 0.001


def simulate(
    trace: Trace,
    *,
    configuration: str | None = None,
    plugins: Iterable[type[Plugin] | str] = (),
    options: SimulationOptions | None = None,
    progress: Progress = lambda done, total: None,
) -> Results:
    """Schedule the pods of *trace* and return what happened.

    *configuration* is the text of a KubeSchedulerConfiguration; *plugins* are classes, or references such as
    `file.py:Class`, and added to the default ones if there is no configuration.
    """
    registry, read = prepared(plugins, configuration, only=False)
    return run_simulation(trace, read(registry), registry, options or SimulationOptions(), progress)


def run_simulation(
    trace: Trace,
    loaded: Loaded,
    registry: Registry,
    options: SimulationOptions,
    progress: Progress = lambda done, total: None,
) -> Results:
    """The same with a configuration that is loaded already."""
    if loaded.config.extenders:
        raise TraceError("the configuration has extenders: they cannot be called in virtual time")
    simulation = Simulation(options.workload.applied(trace, options.seed), loaded, registry, options)
    return simulation.play(progress)


class Simulation(PlayedCluster):
    """One run; see the module docstring."""

    def __init__(self, trace: Trace, loaded: Loaded, registry: Registry, options: SimulationOptions) -> None:
        super().__init__(
            loaded,
            registry,
            start=START,
            timing=Timing(attempt_seconds=options.attempt_seconds),
            tie_breaker=TIE_BREAKERS[options.ties],
            seed=options.seed,
        )
        check_fits(trace, has_to_fit=options.retries)
        self._trace = trace
        self._options = options
        self._measured = Measurement(START)
        self._objects: dict[tuple[str, str, str], KubeObject] = {}
        #: When pods end that are to, by the clock: time, a number for the order among equals, the pod's key.
        self._ends: list[tuple[float, int, str]] = []
        self._numbers = itertools.count()
        #: Uid → how long the pod runs.
        self._durations: dict[str, float] = {}

    def play(self, progress: Progress = lambda done, total: None) -> Results:
        entries = self._trace.entries
        for done, entry in enumerate(entries):
            self._pass_time(START + entry.time)
            if isinstance(entry, PodArrival):
                self._arrive(entry)
            elif isinstance(entry, ObjectArrival):
                self._set_object(entry.object)
            else:
                self._remove_node(entry)
            progress(done, len(entries))
        self._settle()
        progress(len(entries), len(entries))
        self.close()
        return self._measured.results()

    # --- what the trace brings --------------------------------------------------------------------

    def _arrive(self, arrival: PodArrival) -> None:
        pod = arrival.pod
        if pod.key in self.pods:
            raise TraceError(f"the pod {pod.key} comes at {arrival.time:g} s, but is there already")
        self._measured.arrived(pod, self.now)
        if arrival.end is not None:
            self._end_at(START + arrival.end, pod)
        elif arrival.duration is not None:
            self._durations[pod.uid] = arrival.duration
        self.apply(None, pod)
        if pod.node_name:
            self.pod_bound(pod)

    def _set_object(self, new: KubeObject) -> None:
        key = (new.KIND, new.namespace, new.name)
        old = self._objects.get(key)
        self._objects[key] = new
        self.apply(old, new)
        if isinstance(new, Node):
            self._measured.node_changed(new.name, new)

    def _remove_node(self, departure: NodeDeparture) -> None:
        """Its pods go with it."""
        old = self._objects.pop((Node.KIND, "", departure.name), None)
        if old is None:
            raise TraceError(f"the node {departure.name} goes at {departure.time:g} s, but is not there")
        for pod in [each for each in self.pods.values() if each.node_name == departure.name]:
            self._remove_pod(pod.key)
        self.apply(old, None)
        self._measured.node_changed(departure.name, None)

    # --- time -------------------------------------------------------------------------------------

    def _pass_time(self, until: float) -> None:
        """Everything up to *until*, pods that end on the way included."""
        while self._ends and self._ends[0][0] <= until:
            time, _, key = heapq.heappop(self._ends)
            self._run_to(time)
            self._remove_pod(key)
        self._run_to(until)

    def _run_to(self, time: float) -> None:
        if time > self.now:
            self.run_until(time)
            self._run_due()  # binds of the last attempt
            self._measured.sample(self.now)

    def _settle(self) -> None:
        """The trace is over: go on as long as something changes."""
        while self._ends or self._is_busy():
            soon = self.now + self._options.attempt_seconds
            due = self._ends[0][0] if self._ends else float("inf")
            if self._is_busy():
                wakeup = self.next_due()
                due = min(due, soon if self.core.queue.has_ready or wakeup is None else wakeup)
            self._pass_time(max(due, soon))
        self._measured.sample(self.now)

    def _is_busy(self) -> bool:
        """Whether pods are on their way: pods that nothing but a timer would try again are not."""
        queue = self.core.queue
        return bool(
            queue.has_ready or queue.counts().backoff or self._tasks.next_due or self.core.waiting_pods.by_uid
        )

    # --- what happens to pods ---------------------------------------------------------------------

    def _end_at(self, time: float, pod: Pod) -> None:
        heapq.heappush(self._ends, (time, next(self._numbers), pod.key))

    def _remove_pod(self, key: str) -> None:
        pod = self.pods.get(key)
        if pod is not None:
            self._measured.ended(pod, self.now)
            self._durations.pop(pod.uid, None)
            self.apply(pod, None)

    def pod_bound(self, pod: Pod) -> None:
        self._measured.bound(pod, self.now)
        duration = self._durations.pop(pod.uid, None)
        if duration is not None:
            self._end_at(self.now + duration, pod)

    def pod_evicted(self, pod: Pod) -> None:
        self._measured.preempted(pod, self.now)

    def pod_attempted(self, info: QueuedPodInfo) -> None:
        self._measured.attempted(info.pod)
        if self._options.retries:
            return
        pod = self.pods.get(info.key)
        if pod is not None and not pod.node_name and not self.core.cache.is_assumed(pod.uid):
            self._remove_pod(info.key)


def check_fits(trace: Trace, *, has_to_fit: bool = True) -> None:
    """TraceError if there are no nodes, or if a pod that *has_to_fit* is larger than each of them."""
    nodes = trace.nodes
    if not nodes:
        raise TraceError("the trace has no node; give the file with its nodes as well")
    shapes = {tuple(sorted(shape.items())): shape for shape in map(_node_shape, nodes)}.values()
    checked: set[tuple[tuple[str, int], ...]] = set()
    for arrival in trace.pods if has_to_fit else ():
        wanted = tuple(sorted(_pod_shape(arrival.pod).items()))
        if wanted in checked:
            continue
        checked.add(wanted)
        if not any(all(shape.get(name, 0) >= amount for name, amount in wanted) for shape in shapes):
            largest = {name: max(shape.get(name, 0) for shape in shapes) for name, _ in wanted}
            raise TraceError(
                f"the pod {arrival.pod.key} at {arrival.time:g} s is larger than any node: it asks for "
                f"{_amounts(dict(wanted))}, the largest amounts of any node are {_amounts(largest)}"
            )


def _node_shape(node: Node) -> dict[str, int]:
    return {**node.allocatable, GPU: node_gpu_milli(node)}


def _pod_shape(pod: Pod) -> dict[str, int]:
    return {name: amount for name, amount in {**pod.requests, GPU: pod_gpu_milli(pod)}.items() if amount}


def _amounts(amounts: dict[str, int]) -> str:
    in_milli = (CPU, GPU)
    return ", ".join(
        f"{name} {amount}{'m' if name in in_milli else ''}" for name, amount in sorted(amounts.items())
    )
