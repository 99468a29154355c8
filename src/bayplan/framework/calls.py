"""The one way a plugin's method is called: timed, guarded, its answer brought into one form.

A plugin that raises yields an ERROR status; a plugin that answers with something the contract does not know
yields an ERROR status that says so. Nothing a plugin does gets past here as an exception.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from bayplan.framework.contract import n_arguments
from bayplan.framework.plugin import Plugin
from bayplan.framework.points import METHODS, Point
from bayplan.framework.status import SUCCESS, Code, Status

if TYPE_CHECKING:
    from bayplan.framework.nodes import NodeInfo
    from bayplan.framework.state import CycleState
    from bayplan.model import Pod

logger = logging.getLogger("bayplan.framework")

#: A plugin that takes longer is named in the log and in the record: nothing else is scheduled meanwhile.
SLOW_SECONDS: Final = 0.1


class Observer(Protocol):
    """Told about every call and every extension point: metrics and records hang on this."""

    def plugin_called(self, point: str, plugin: str, code: Code, seconds: float) -> None: ...

    def point_done(self, point: str, code: Code, seconds: float) -> None: ...


#: Methods beside the entries of an extension point are timed under names of their own.
_COMPANION_LABELS: Final = {
    "add_pod": "PreFilterExtensionAddPod",
    "remove_pod": "PreFilterExtensionRemovePod",
    "normalize_score": "ScoreExtensionNormalize",
    "unreserve": "Unreserve",
    "waits_with": "PermitWaitsWith",
    "waits_for": "PermitWaitsFor",
    "pre_bind_pre_flight": "PreBindPreFlight",
}


class Bound:
    """One method of one plugin, ready to be called with as many arguments as it takes."""

    __slots__ = ("function", "is_per_node", "label", "n_arguments", "name", "plugin", "point")

    #: Methods of the per-node form.
    _PER_NODE: Final = frozenset({"filter", "score"})

    def __init__(self, plugin: Plugin, method_name: str, point: Point) -> None:
        self.plugin: Final = plugin
        self.name: Final = plugin.name
        #: The point's title, as it stands in messages.
        self.point: Final = point.title
        #: What kube-scheduler's metrics call the call.
        self.label: Final = _COMPANION_LABELS.get(method_name, point.title)
        self.function: Final[Callable[..., Any]] = getattr(plugin, method_name)
        self.n_arguments: Final = n_arguments(self.function, METHODS[method_name])
        self.is_per_node: Final = method_name in self._PER_NODE


class SlowCall(NamedTuple):
    """A plugin that held everybody up; several if one of them did and it cannot be told which."""

    plugin: str
    point: str
    seconds: float


class Caller:
    """Calls bound methods and tells the observer, if there is one."""

    def __init__(self, observer: Observer | None = None) -> None:
        #: May be switched off and on: plugins are timed in some of the cycles only.
        self.observer = observer
        #: Since it was last cleared; cycles do.
        self.slow_calls: list[SlowCall] = []

    def call(self, bound: Bound, *arguments: Any) -> Any:
        """The method's answer; an ERROR Status if it raised."""
        answer: Any
        start = perf_counter()
        try:
            answer = bound.function(*arguments[: bound.n_arguments])
        except (Exception, SystemExit) as error:
            answer = _raised(bound, error)
        seconds = perf_counter() - start
        if seconds > SLOW_SECONDS:
            self.note_time(bound.name, bound.point, seconds)
        if self.observer is not None:
            self._observe(self.observer, bound, answer, seconds)
        return answer

    def note_time(self, plugin: str, point: str, seconds: float) -> None:
        """For those who `call_often`: how long it took in all."""
        if seconds > SLOW_SECONDS:
            logger.warning("Plugin was slow: plugin=%s point=%s seconds=%.3f", plugin, point, seconds)
            self.slow_calls.append(SlowCall(plugin, point, seconds))

    def call_often(self, bound: Bound, *arguments: Any) -> Any:
        """The same for one node out of many: whoever asks about all of them has an eye on the time."""
        answer: Any
        start = perf_counter() if self.observer is not None else 0.0
        try:
            answer = bound.function(*arguments[: bound.n_arguments])
        except (Exception, SystemExit) as error:
            answer = _raised(bound, error)
        if self.observer is not None:
            self._observe(self.observer, bound, answer, perf_counter() - start)
        return answer

    def asker(self, bound: Bound, state: CycleState, pod: Pod) -> Callable[[NodeInfo], Any]:
        """`call_often` with everything said but the node; as short as can be, for it is called for every node."""
        function = bound.function
        if self.observer is not None or bound.n_arguments < 3:
            return lambda node: self.call_often(bound, state, pod, node)

        def ask(node: NodeInfo) -> Any:
            try:
                return function(state, pod, node)
            except (Exception, SystemExit) as error:
                return _raised(bound, error)

        return ask

    async def call_async(self, bound: Bound, *arguments: Any) -> Any:
        """The same for a coroutine of the binding cycle."""
        start = perf_counter()
        answer: Any
        try:
            answer = await bound.function(*arguments[: bound.n_arguments])
        except (Exception, SystemExit) as error:
            answer = _raised(bound, error)
        if self.observer is not None:
            self._observe(self.observer, bound, answer, perf_counter() - start)
        return answer

    @staticmethod
    def _observe(observer: Observer, bound: Bound, answer: Any, seconds: float) -> None:
        code = Code.SUCCESS
        if answer is not None:
            status = getattr(answer, "status", answer)
            code = status.code if isinstance(status, Status) else code
        observer.plugin_called(bound.label, bound.name, code, seconds)


def _raised(bound: Bound, error: Exception | SystemExit) -> Status:
    logger.error("Plugin raised: plugin=%s point=%s", bound.name, bound.point, exc_info=error)
    return Status.failed(error if isinstance(error, Exception) else f"the plugin called exit: {error}")


def as_status(bound: Bound, answer: Any) -> Status:
    """None and Status as they are; anything else is the plugin's mistake."""
    if answer is None:
        return SUCCESS
    if isinstance(answer, Status):
        return answer
    return Status.failed(
        f"{bound.point} must return a Status or None, got {type(answer).__name__}: {answer!r:.80}"
    )


def wrapped(text: str, status: Status, plugin: str) -> Status:
    """ERROR with kube-scheduler's words around a plugin's failure."""
    return Status(Code.ERROR, (f"{text}: {status.message}",), plugin=plugin, error=status.error)
