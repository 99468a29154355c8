"""The plugins of a profile on their extension points, and the one way in which their methods are called.

In: plugin instances and the extension points that the configuration enables them at. Out:
`ProfilePlugins`, which the runners of the scheduling and of the binding cycle both work with.

Every call is timed and guarded. A plugin that raises, or returns something that the contract does not allow,
results in an ERROR status. No exception of a plugin gets past `PluginCaller`. A call that does not end is noticed
by the process (`process.watchdog`), which reads the stack: nothing is noted here for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from bayplan.framework.contract import n_arguments
from bayplan.framework.plugin import Plugin, Reads, defines
from bayplan.framework.plugin_timeout import PluginTimeoutError
from bayplan.framework.points import METHODS, POINT_BY_NAME, Point
from bayplan.framework.status import SUCCESS, Code, Status
from bayplan.model import Pod

if TYPE_CHECKING:
    from bayplan.framework.nodes import NodeInfo
    from bayplan.framework.state import CycleState

logger = logging.getLogger("bayplan.framework")

#: A plugin that takes longer is named in the log and in the record: no other pod is scheduled meanwhile.
SLOW_SECONDS: Final = 0.1

#: What a coroutine of a plugin may raise without harm to anything but its own attempt. Its task may be cancelled.
CONTAINED_IN_TASKS: Final = (Exception, SystemExit, PluginTimeoutError)


def contain(error: BaseException) -> None:
    """Contain whatever a plugin raised, except KeyboardInterrupt: the user wants the process to end."""
    if isinstance(error, KeyboardInterrupt):
        raise error


class Observer(Protocol):
    """Called for every plugin call and every extension point; metrics are recorded here."""

    def plugin_called(self, point: str, plugin: str, code: Code, seconds: float) -> None: ...

    def point_done(self, point: str, code: Code, seconds: float) -> None: ...


#: Companion methods of an extension point have metric labels of their own.
_COMPANION_LABELS: Final = {
    "add_pod": "PreFilterExtensionAddPod",
    "remove_pod": "PreFilterExtensionRemovePod",
    "normalize_score": "ScoreExtensionNormalize",
    "unreserve": "Unreserve",
    "waits_with": "PermitWaitsWith",
    "waits_for": "PermitWaitsFor",
    "pre_bind_pre_flight": "PreBindPreFlight",
}


class PluginMethod:
    """One method of one plugin, with what is needed to call it."""

    __slots__ = ("function", "is_per_node", "label", "n_arguments", "name", "plugin", "point", "sign")

    #: Methods of the per-node form.
    _PER_NODE: Final = frozenset({"filter", "score"})

    def __init__(self, plugin: Plugin, method_name: str, point: Point) -> None:
        self.plugin: Final = plugin
        #: The plugin's name.
        self.name: Final = plugin.name
        #: The extension point's title, as in messages.
        self.point: Final = point.title
        #: The extension point's label in kube-scheduler's metrics.
        self.label: Final = _COMPANION_LABELS.get(method_name, point.title)
        self.function: Final[Callable[..., Any]] = getattr(plugin, method_name)
        #: How many of the contract's arguments the method takes.
        self.n_arguments: Final = n_arguments(self.function, METHODS[method_name])
        self.is_per_node: Final = method_name in self._PER_NODE
        #: The plugin's `sign`; None if results of this method are not cached.
        self.sign: Final = plugin.sign if not self.is_per_node and _is_cached(plugin) else None


def _is_cached(plugin: Plugin) -> bool:
    return plugin.reads is not Reads.ANYTHING and defines(plugin, "sign")


class SlowCall(NamedTuple):
    """A plugin that was slow; several names if it is not known which of them was."""

    plugin: str
    point: str
    seconds: float


class PluginCaller:
    """Calls plugin methods and reports each call to the observer, if there is one."""

    def __init__(self, observer: Observer | None = None) -> None:
        #: Set to None for cycles in which single plugins are not timed.
        self.observer = observer
        #: Slow calls since the cycle last took them.
        self.slow_calls: list[SlowCall] = []

    def call(self, method: PluginMethod, *arguments: Any) -> Any:
        """The method's result; an ERROR Status if it raised."""
        result: Any
        start = perf_counter()
        try:
            result = method.function(*arguments[: method.n_arguments])
        except BaseException as error:
            result = _raised(method, error, arguments)
        seconds = perf_counter() - start
        if seconds > SLOW_SECONDS:
            self.warn_if_slow(method.name, method.point, seconds)
        if self.observer is not None:
            self._observe(self.observer, method, result, seconds)
        return result

    def warn_if_slow(self, plugin: str, point: str, seconds: float) -> None:
        """Log and note *seconds* if they are too long; for the total of many calls of `call_for_node`."""
        if seconds > SLOW_SECONDS:
            logger.warning("Plugin was slow: plugin=%s point=%s seconds=%.3f", plugin, point, seconds)
            self.slow_calls.append(SlowCall(plugin, point, seconds))

    def call_for_node(self, method: PluginMethod, *arguments: Any) -> Any:
        """Like `call`, for one node or pod of many: the caller checks the total time."""
        result: Any
        start = perf_counter() if self.observer is not None else 0.0
        try:
            result = method.function(*arguments[: method.n_arguments])
        except BaseException as error:
            result = _raised(method, error, arguments)
        if self.observer is not None:
            self._observe(self.observer, method, result, perf_counter() - start)
        return result

    def node_caller(self, method: PluginMethod, state: CycleState, pod: Pod) -> Callable[[NodeInfo], Any]:
        """`call_for_node` as a function of the node alone. As short as possible: it runs once per node."""
        function = method.function
        if self.observer is not None or method.n_arguments < 3:
            return lambda node: self.call_for_node(method, state, pod, node)

        def call(node: NodeInfo) -> Any:
            try:
                return function(state, pod, node)
            except BaseException as error:
                return _raised(method, error, (pod,))

        return call

    async def call_async(self, method: PluginMethod, *arguments: Any) -> Any:
        """Like `call`, for a coroutine of the binding cycle, which holds up no other pod."""
        start = perf_counter()
        result: Any
        try:
            result = await method.function(*arguments[: method.n_arguments])
        except CONTAINED_IN_TASKS as error:
            result = _raised(method, error, arguments)
        if self.observer is not None:
            self._observe(self.observer, method, result, perf_counter() - start)
        return result

    @staticmethod
    def _observe(observer: Observer, method: PluginMethod, result: Any, seconds: float) -> None:
        code = Code.SUCCESS
        if result is not None:
            status = getattr(result, "status", result)
            code = status.code if isinstance(status, Status) else code
        observer.plugin_called(method.label, method.name, code, seconds)


def _raised(method: PluginMethod, error: BaseException, arguments: Sequence[Any]) -> Status:
    contain(error)
    pod = next((argument.key for argument in arguments if isinstance(argument, Pod)), "")
    logger.error("Plugin raised: plugin=%s point=%s pod=%s", method.name, method.point, pod, exc_info=error)
    text = f"the plugin called exit: {error}" if isinstance(error, SystemExit) else str(error)
    return Status(Code.ERROR, (text or type(error).__name__,), error=error)


def as_status(method: PluginMethod, result: Any) -> Status:
    """SUCCESS for None, a Status unchanged, ERROR for any other result."""
    if result is None:
        return SUCCESS
    if isinstance(result, Status):
        return result
    return Status.failed(
        f"{method.point} must return a Status or None, got {type(result).__name__}: {result!r:.80}"
    )


def wrapped(text: str, status: Status, plugin: str) -> Status:
    """ERROR with kube-scheduler's words around a plugin's failure."""
    return Status(Code.ERROR, (f"{text}: {status.message}",), plugin=plugin, error=status.error)


class PlacedPlugin(NamedTuple):
    """A plugin that a profile enables at an extension point."""

    plugin: Plugin
    #: Of Score; 0 elsewhere.
    weight: int = 0


class ProfilePlugins:
    """The plugins of one profile: their methods by extension point, in the order in which they are called."""

    def __init__(
        self, name: str, points: Mapping[str, Sequence[PlacedPlugin]], observer: Observer | None = None
    ) -> None:
        #: The profile's scheduler name.
        self.name: Final = name
        self.caller: Final = PluginCaller(observer)
        #: Unlike the caller's, never switched off.
        self._observer: Final = observer
        #: Every plugin of the profile, by name.
        self.plugins: Final = {
            enabled.plugin.name: enabled.plugin for on_point in points.values() for enabled in on_point
        }
        self.weights: Final = {enabled.plugin.name: enabled.weight for enabled in points.get("score", ())}
        self._methods: Final[dict[str, list[PluginMethod]]] = {
            point: [_entry_method(enabled.plugin, point) for enabled in points.get(point, ())]
            for point in POINT_BY_NAME
        }

    def on(self, point: str) -> Sequence[PluginMethod]:
        """The entry methods on *point* (`filter`, `score`, …)."""
        return self._methods[point]

    def companions(self, point: str, method_name: str) -> dict[str, PluginMethod]:
        """Plugin name → its companion method, for the plugins on *point* that define it."""
        return {
            method.name: PluginMethod(method.plugin, method_name, POINT_BY_NAME[point])
            for method in self._methods[point]
            if defines(method.plugin, method_name)
        }

    def pre_enqueue(self, pod: Pod, *, first: str = "") -> tuple[str, Status] | None:
        """The first plugin that does not let the pod into the queue, with its status; None if all do.

        The plugin named *first* is called before the others.
        """
        start = perf_counter()
        methods = self._methods["preEnqueue"]
        if first:
            methods = sorted(methods, key=lambda method: method.name != first)
        rejection: tuple[str, Status] | None = None
        for method in methods:
            returned = self.caller.call(method, pod)
            if returned is not None and not (status := as_status(method, returned)).is_success:
                rejection = method.name, status
                break
        # Reported as a success whatever the result: kube-scheduler does so too, by an oversight.
        self.point_done("PreEnqueue", SUCCESS, start)
        return rejection

    def point_done(self, title: str, status: Status, start: float) -> Status:
        """Report that the extension point *title*, begun at *start*, ended with *status*; returns *status*."""
        if self._observer is not None:
            self._observer.point_done(title, status.code, perf_counter() - start)
        return status


def _entry_method(plugin: Plugin, point_name: str) -> PluginMethod:
    point = POINT_BY_NAME[point_name]
    for method in point.entries:
        if defines(plugin, method.name):
            return PluginMethod(plugin, method.name, point)
    raise TypeError(f"{plugin!r} is not on {point_name}")  # the configuration has been checked for this
