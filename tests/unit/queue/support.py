"""A queue over small plugins, in virtual time, that validates itself after each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from bayplan.core.cluster_changes import pod_changes
from bayplan.framework import (
    Action,
    ClusterEvent,
    Handle,
    Hint,
    PlacedPlugin,
    Plugin,
    ProfilePlugins,
    Resource,
    Status,
)
from bayplan.framework.plugin import defines
from bayplan.model import Pod
from bayplan.plugins.queueing.priority_sort import PrioritySort
from bayplan.queue import PendingCounts, PodNominator, QueuedPodInfo, QueueEvent, SchedulingQueue
from bayplan.testing import VirtualClock

#: A whole second, so that tests can tell where in a backoff window they are.
START = 1_700_000_000.0
PROFILE = "default-scheduler"
NODE_ADD = QueueEvent(Resource.NODE, Action.ADD)
NODE_LABEL = QueueEvent(Resource.NODE, Action.UPDATE_NODE_LABEL)


def no_handle() -> Handle:
    return cast("Handle", None)


class Fit(Plugin):
    """Registers for nodes; its hint skips the node `useless`."""

    name = "Fit"

    def filter(self, state: Any, pod: Pod, node: Any) -> Status | None: ...

    def events_to_register(self) -> Sequence[ClusterEvent]:
        return (ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, self._after_node_change),)

    def _after_node_change(self, pod: Pod, old: object, new: object) -> Hint:
        return Hint.SKIP if new == "useless" else Hint.QUEUE


class Outside(Plugin):
    """Registers for a custom resource, without a hint."""

    name = "Outside"
    events_to_register = (ClusterEvent("foos.v1.example.com", Action.ALL),)

    def filter(self, state: Any, pod: Pod, node: Any) -> Status | None: ...


class Gate(Plugin):
    """Rejects the pods whose names are in `held`."""

    name = "Gate"
    events_to_register = (ClusterEvent(Resource.POD, Action.UPDATE_POD_LABEL),)

    def __init__(self) -> None:
        super().__init__(None, no_handle())
        self.held: set[str] = set()

    def pre_enqueue(self, pod: Pod) -> Status | None:
        return Status.unresolvable("not yet") if pod.name in self.held else None


FOO_ADD = QueueEvent("foos.v1.example.com", Action.ADD)


def profile_of(*plugins: Plugin, sort: Plugin | None = None, name: str = PROFILE) -> ProfilePlugins:
    points: dict[str, list[PlacedPlugin]] = {
        "queueSort": [PlacedPlugin(sort if sort is not None else PrioritySort(None, no_handle()))]
    }
    for plugin in plugins:
        for point, method in (("preEnqueue", "pre_enqueue"), ("filter", "filter")):
            if defines(plugin, method):
                points.setdefault(point, []).append(PlacedPlugin(plugin))
    return ProfilePlugins(name, points)


class Observed:
    """Implements `QueueObserver`."""

    def __init__(self) -> None:
        self.moves: list[str] = []
        self.holding: dict[str, int] = {}

    def pod_queued(self, queue: str, event: str) -> None:
        self.moves.append(f"{queue} {event}")

    def rejector_counted(self, plugin: str, profile: str, change: int) -> None:
        self.holding[plugin] = self.holding.get(plugin, 0) + change


class Bench:
    """A queue with its clock and its gate."""

    def __init__(self, *more: Plugin, sort: Plugin | None = None, **options: Any) -> None:
        self.clock = VirtualClock(START)
        self.nominator = PodNominator()
        self.gate = Gate()
        self.observed = Observed()
        plugins = (self.gate, Fit(None, no_handle()), Outside(None, no_handle()), *more)
        self.queue = SchedulingQueue(
            {PROFILE: profile_of(*plugins, sort=sort)},
            self.nominator,
            self.clock,
            observer=self.observed,
            **options,
        )

    def step(self, call: Callable[..., Any], *arguments: Any) -> Any:
        answer = call(*arguments)
        self.queue.validate()
        return answer

    def add(self, *pods: Pod) -> None:
        for pod in pods:
            self.step(self.queue.add, pod)

    def pop(self) -> QueuedPodInfo:
        info: QueuedPodInfo | None = self.step(self.queue.pop)
        assert info is not None
        return info

    def fail(self, info: QueuedPodInfo, *plugins: str, pending: Iterable[str] = ()) -> None:
        """The attempt was rejected by *plugins*; it ended in an error if there are none."""
        info.note_failure(plugins, pending, "no")
        self.step(self.queue.add_unschedulable, info)

    def add_rejected(self, pod: Pod, *plugins: str, pending: Iterable[str] = ()) -> QueuedPodInfo:
        """A pod that has been tried once."""
        self.add(pod)
        info = self.pop()
        assert info.pod is pod
        self.fail(info, *plugins, pending=pending)
        return info

    def happen(self, event: QueueEvent, old: object = None, new: object = None) -> None:
        self.step(self.queue.move_all_to_active_or_backoff, event, old, new)

    def update(self, old: Pod, new: Pod) -> None:
        self.step(self.queue.update, old, new, pod_changes(old, new))

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.step(self.queue.flush)

    @property
    def counts(self) -> PendingCounts:
        return self.queue.counts()

    @property
    def pods(self) -> list[tuple[QueuedPodInfo, str]]:
        """Every pod and its sub-queue, those that are tried next first."""
        queue = self.queue
        return [
            *((flight.info, "in flight") for flight in queue._in_flight.pods.values()),
            *((info, "active") for info in queue._active),
            *((info, "backoff") for info in queue._backoff),
            *(
                (info, "gated" if info.is_gated else "unschedulable")
                for info in queue._unschedulable.pods.values()
            ),
        ]

    def place(self, pod: Pod) -> str:
        (place,) = [place for info, place in self.pods if info.key == pod.key]
        return place
