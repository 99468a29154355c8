"""What the schedulers of all profiles share: the parts of the core, and where its output goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from bayplan.queue.queue import QueueObserver

if TYPE_CHECKING:
    from bayplan.cache import Cache
    from bayplan.core.decision import Decision
    from bayplan.core.messages import Instruction
    from bayplan.core.preemption import Preemptions
    from bayplan.core.waiting_pods import WaitingPods
    from bayplan.framework import Clock, Code, CycleState, Observer
    from bayplan.framework.extenders import Extender
    from bayplan.model import Pod
    from bayplan.observe.record import Ring
    from bayplan.queue import PodNominator, QueuedPodInfo, SchedulingQueue


class AttemptObserver(Protocol):
    """Told how attempts go; metrics are made of this."""

    def started(self, profile: str) -> None: ...

    def decided(self, profile: str, state: CycleState, decision: Decision) -> None: ...

    def failed(self, profile: str, *, is_rejection: bool, seconds: float) -> None:
        """The pod goes back to the queue, *seconds* after its attempt began."""

    def bound(self, profile: str, info: QueuedPodInfo, seconds: float) -> None: ...

    def waited_on_permit(self, code: Code, seconds: float) -> None: ...


class CoreObserver(AttemptObserver, QueueObserver, Protocol):
    """Told about everything that the core does."""

    def add_profile(self, profile: str, on: Any, caller: Any) -> None:
        """The plugins of a profile, at the start and after they were replaced."""

    def observer(self, profile: str) -> Observer:
        """Told about every call of the profile's plugins."""

    def event_handled(self, event: str, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class CoreParts:
    """What the schedulers of all profiles share."""

    cache: Cache
    queue: SchedulingQueue
    nominator: PodNominator
    waiting_pods: WaitingPods
    preemptions: Preemptions
    #: Every pod as the watch last showed it, by key.
    pods: dict[str, Pod]
    extenders: Sequence[Extender]
    clock: Clock
    #: Appends an instruction to the core's output.
    emit: Callable[[Instruction], None]
    records: Ring | None = None
    observer: CoreObserver | None = None
