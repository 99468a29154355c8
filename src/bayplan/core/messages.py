"""What goes into the core and what comes out of it, as plain data.

Inputs are changes of the cluster and results of instructions: `SchedulerCore.handle` takes them. Instructions are
everything that needs I/O: `SchedulerCore.take_instructions` returns them, the driver carries them out in order and
feeds the results back.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from bayplan.framework import BindPlan, CycleState, Status
from bayplan.framework.extenders import Extender
from bayplan.framework.object_selection import ObjectSelection
from bayplan.model import Condition, KubeObject, Pod
from bayplan.observe.record import AttemptMessage

if TYPE_CHECKING:
    from bayplan.core.schedule_one import ProfileScheduler
    from bayplan.core.waiting_pods import WaitingPod
    from bayplan.queue import QueuedPodInfo


class AssumedPod(NamedTuple):
    """A pod on its way to its node."""

    info: QueuedPodInfo
    #: With its node's name, as the cache counts it.
    pod: Pod
    node_name: str
    state: CycleState
    #: That of the attempt's record: if the pod is not bound after all, it says why.
    message: AttemptMessage
    n_evaluated: int
    n_feasible: int
    #: Whether the pod was nominated: others had to leave room for it before it was assumed.
    was_nominated: bool
    #: When the attempt began, on `time.perf_counter`.
    start: float
    #: The scheduler of its profile, with the plugins that the attempt began with.
    scheduler: ProfileScheduler


class Victim(NamedTuple):
    """A pod that preemption evicts."""

    pod: Pod
    #: Set if the pod was waiting at Permit when it was chosen.
    waiting: WaitingPod | None

    @property
    def is_leaving(self) -> bool:
        """Whether its resources become free anyway."""
        return self.pod.is_terminating or (self.waiting is not None and self.waiting.is_leaving)


class PreemptionPlan(NamedTuple):
    """The victims that make room for *preemptor* on a node."""

    preemptor: Pod
    node_name: str
    #: Evicted at the same time, except for the last one, which is evicted after the others.
    victims: Sequence[Victim]
    #: Pods that were nominated to the node and no longer are.
    outranked: Sequence[Pod]
    #: The profile of the preemptor, in whose name events are recorded.
    profile_name: str


class ExtenderCall(NamedTuple):
    """One request to one extender: `await getattr(extender, verb)(pod, argument)`."""

    extender: Extender
    #: `filter`, `prioritize` or `process_preemption`.
    verb: str
    pod: Pod
    #: The nodes, or the candidates of preemption.
    argument: Any


# --- inputs ---------------------------------------------------------------------------------------------------


class ObjectChanged(NamedTuple):
    """An object was created (*old* is None), updated, or deleted (*new* is None)."""

    old: KubeObject | None
    new: KubeObject | None


class CustomObjectChanged(NamedTuple):
    """The same for an object that is handled as a plain dictionary."""

    api_version: str
    plural: str
    old: dict[str, Any] | None
    new: dict[str, Any] | None


class SelectedObjectChanged(NamedTuple):
    """The same for an object of a selection that a plugin has asked for; it may leave or enter the selection."""

    selection: ObjectSelection
    old: Any
    new: Any


class ExtendersAnswered(NamedTuple):
    """The results of `AskExtenders`, one for each call; an exception stands for a call that failed."""

    results: Sequence[Any]


class WaitEnded(NamedTuple):
    """The result of `EndWait`."""

    waiting: WaitingPod


class PodBound(NamedTuple):
    """The result of `StartBinding`: the API server has accepted the bind."""

    assumed: AssumedPod


class BindingFailed(NamedTuple):
    """The result of `StartBinding`: the pod goes back to the queue."""

    assumed: AssumedPod
    status: Status
    #: The node already written to the pod's `status.nominatedNodeName`, if any.
    announced_node: str = ""


class OneVictimLeft(NamedTuple):
    """Progress of `StartPreemption`: all victims but the last are evicted."""

    preemption: PreemptionPlan


class VictimEvicted(NamedTuple):
    """Progress of `StartPreemption`: a victim was deleted, or rejected if it waited at Permit."""

    preemption: PreemptionPlan
    victim: Victim
    was_waiting: bool


class PreemptionEnded(NamedTuple):
    """The result of `StartPreemption`."""

    preemption: PreemptionPlan
    #: Whether the watch will show the deletion of the last victim: the event that tries the preemptor again.
    awaits_deletion: bool


Input: TypeAlias = (
    ObjectChanged
    | CustomObjectChanged
    | SelectedObjectChanged
    | ExtendersAnswered
    | WaitEnded
    | PodBound
    | BindingFailed
    | OneVictimLeft
    | VictimEvicted
    | PreemptionEnded
)


# --- instructions ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskExtenders:
    """Make these calls at the same time, then `handle(ExtendersAnswered(...))`.

    The attempt that asks is suspended until then, and the core defers every other input.
    """

    calls: Sequence[ExtenderCall]


@dataclass(frozen=True, slots=True)
class StartBinding:
    """Run PreBind, Bind and PostBind, then `handle(PodBound(...))` or `handle(BindingFailed(...))`."""

    assumed: AssumedPod
    plan: BindPlan
    #: The node already written to the pod's `status.nominatedNodeName`, if any.
    announced_node: str = ""


@dataclass(frozen=True, slots=True)
class EndWait:
    """A pod that waited at Permit was allowed or rejected: `handle(WaitEnded(...))` after the current call.

    A plugin decides about waiting pods in the middle of its own call; what follows must not happen inside of it.
    """

    waiting: WaitingPod


@dataclass(frozen=True, slots=True)
class StartPreemption:
    """Evict the victims: `handle(VictimEvicted(...))` after each of them, `handle(OneVictimLeft(...))` before the
    last one, `handle(PreemptionEnded(...))` at the end."""

    preemption: PreemptionPlan


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """Write a pod's condition and its nomination."""

    pod: Pod
    condition: Condition | None
    #: A node, "" to clear the nomination, None to leave it.
    nominated_node_name: str | None


@dataclass(frozen=True, slots=True)
class RecordEvent:
    """Record a Kubernetes event in the name of a profile."""

    profile_name: str
    regarding: Any
    kind: str
    reason: str
    action: str
    note: str
    related: Any = None


@dataclass(frozen=True, slots=True)
class StartWork:
    """Await *work*: a write that a plugin has to make outside of a binding cycle. It handles its own errors."""

    work: Callable[[], Coroutine[Any, Any, None]]


Instruction: TypeAlias = (
    AskExtenders | StartBinding | EndWait | StartPreemption | WriteStatus | RecordEvent | StartWork
)
