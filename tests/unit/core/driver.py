"""A core under test: one node or a few, a plugin that does as it is told, and what comes out of the core."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from bayplan.core import SchedulerCore
from bayplan.core.messages import Instruction, ObjectChanged, RecordEvent, StartBinding, WriteStatus
from bayplan.framework import Plugin, Status
from bayplan.model import Pod
from bayplan.scheduler import new_core
from bayplan.testing import VirtualClock, make_node
from bayplan.testing.harness import prepared

T = TypeVar("T")

CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled: [{name: Gate}]
    bind:
      disabled: [{name: DefaultBinder}]
"""


class Gate(Plugin):
    """Answers as a test wants it to at every extension point, and logs the calls."""

    name = "Gate"
    log: ClassVar[list[str]] = []
    answers: ClassVar[dict[str, Any]] = {}

    def _answer(self, point: str) -> Any:
        self.log.append(point)
        answer = self.answers.get(point)
        return answer() if callable(answer) else answer

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        answer: Status | None = self.answers.get("filter")
        return answer

    def reserve(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._answer("reserve")

    def unreserve(self, state: Any, pod: Any, node_name: str) -> None:
        self._answer("unreserve")

    def permit(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._answer("permit")

    def pre_bind_pre_flight(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._answer("pre_bind_pre_flight")

    async def pre_bind(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._answer("pre_bind")

    async def bind(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._answer("bind")

    async def post_bind(self, state: Any, pod: Any, node_name: str) -> None:
        self._answer("post_bind")


class Driver:
    """Feeds a core and looks at its instructions."""

    def __init__(self, *, nodes: str = "a", options: dict[str, Any] | None = None, **answers: Any) -> None:
        self.log: list[str] = []
        self.answers = answers
        gate = type("Gate", (Gate,), {"log": self.log, "answers": answers})
        self.registry, read = prepared([gate], CONFIGURATION, only=False)
        self.loaded = read(self.registry)
        self.clock = VirtualClock()
        self.core: SchedulerCore = new_core(
            self.loaded, self.registry, clock=self.clock, seed=0, **(options or {})
        )
        for name in nodes:
            self.core.handle(ObjectChanged(None, make_node(name, cpu="4")))

    def add(self, *pods: Pod) -> None:
        for pod in pods:
            self.core.handle(ObjectChanged(None, pod))

    def schedule(self, *pods: Pod) -> list[Instruction]:
        """Add *pods* and try every pod that is ready; what came out."""
        self.add(*pods)
        while self.core.schedule_one() is not None:
            pass
        return list(self.core.take_instructions())

    def start_binding(self, pod: Pod) -> StartBinding:
        return only(StartBinding, self.schedule(pod))

    @property
    def cpu(self) -> int:
        """What is requested on all nodes."""
        return int(self.core.cache.snapshot().nodes.requested("cpu").sum())


def only(kind: type[T], instructions: list[Instruction]) -> T:
    """The one instruction of this kind."""
    (found,) = [each for each in instructions if isinstance(each, kind)]
    return found


def told(instructions: list[Instruction]) -> list[tuple[str, str]]:
    """Events as (reason, note), conditions as (reason, message)."""
    found = []
    for each in instructions:
        if isinstance(each, RecordEvent):
            found.append((each.reason, each.note))
        elif isinstance(each, WriteStatus) and each.condition is not None:
            found.append((each.condition.reason, each.condition.message))
    return found


class Heard:
    """Implements `CoreObserver`; keeps what it is told about attempts."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def add_profile(self, profile: str, on: Any, caller: Any) -> None: ...

    def observer(self, profile: str) -> None:
        return None

    def event_handled(self, event: str, seconds: float) -> None: ...

    def pod_queued(self, queue: str, event: str) -> None: ...

    def rejector_counted(self, plugin: str, profile: str, change: int) -> None: ...

    def started(self, profile: str) -> None:
        self.calls.append(("started", profile))

    def decided(self, profile: str, state: Any, decision: Any) -> None:
        self.calls.append(("decided", decision.node_name))

    def failed(self, profile: str, *, is_rejection: bool, seconds: float) -> None:
        self.calls.append(("failed", is_rejection))

    def bound(self, profile: str, info: Any, seconds: float) -> None:
        self.calls.append(("bound", info.attempts))

    def waited_on_permit(self, code: Any, seconds: float) -> None:
        self.calls.append(("waited", seconds))
