"""ProfilePlugins: the plugins of one profile, placed on their extension points and ready to be called.

The two runners, of the scheduling and of the binding cycle, both work on one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, Final, NamedTuple

from bayplan.framework.calls import Bound, Caller, Observer, as_status, wrapped
from bayplan.framework.plugin import Plugin
from bayplan.framework.points import POINT_BY_NAME
from bayplan.framework.status import SUCCESS, Code, Status


class Placed(NamedTuple):
    """A plugin on an extension point."""

    plugin: Plugin
    #: Of Score; 0 elsewhere.
    weight: int = 0


class ProfilePlugins:
    """Bound methods by extension point, in the order in which they are called."""

    def __init__(
        self, name: str, points: Mapping[str, Sequence[Placed]], observer: Observer | None = None
    ) -> None:
        #: The profile's scheduler name.
        self.name: Final = name
        self.caller: Final = Caller(observer)
        #: Told about extension points, always.
        self._observer: Final = observer
        #: Every plugin of the profile, by name.
        self.plugins: Final = {
            placed.plugin.name: placed.plugin for on_point in points.values() for placed in on_point
        }
        self.weights: Final = {placed.plugin.name: placed.weight for placed in points.get("score", ())}
        self._bound: Final[dict[str, list[Bound]]] = {
            point: [_bind_entry(placed.plugin, point) for placed in points.get(point, ())]
            for point in POINT_BY_NAME
        }

    def on(self, point: str) -> Sequence[Bound]:
        """The entry methods on *point* (`filter`, `score`, …)."""
        return self._bound[point]

    def companions(self, point: str, method: str) -> dict[str, Bound]:
        """Plugin name → its *method*, for the plugins on *point* that define it."""
        return {
            bound.name: Bound(bound.plugin, method, POINT_BY_NAME[point])
            for bound in self._bound[point]
            if hasattr(bound.plugin, method)
        }

    def first_refusal(self, point: str, *arguments: Any) -> Status:
        """Ask in order, stop at the first that does not succeed."""
        for bound in self._bound[point]:
            status = as_status(bound, self.caller.call(bound, *arguments))
            if status.is_rejection:
                return status.by(bound.name)
            if not status.is_success:
                return wrapped(f'running {bound.point} plugin "{bound.name}"', status, bound.name)
        return SUCCESS

    def point_done(self, title: str, status: Status, start: float) -> Status:
        """The extension point *title*, which began at *start*, ended with *status*, which is given back."""
        if self._observer is not None:
            self._observer.point_done(title, status.code, perf_counter() - start)
        return status

    def timed(self, title: str) -> Timed:
        """Times an extension point: `with plugins.timed("Filter") as done: return done(status)`."""
        return Timed(self._observer, title)


class Timed:
    """The time of one extension point, and the status it ended with."""

    __slots__ = ("_code", "_observer", "_start", "_title")

    def __init__(self, observer: Observer | None, title: str) -> None:
        self._observer = observer
        self._title = title
        self._code = Code.SUCCESS
        self._start = 0.0

    def __enter__(self) -> Callable[[Status], Status]:
        self._start = perf_counter()
        return self._done

    def _done(self, status: Status) -> Status:
        """Notes how the point ended; returns it, for the caller's `return`."""
        self._code = status.code
        return status

    def __exit__(self, *exception: object) -> None:
        if self._observer is not None:
            self._observer.point_done(self._title, self._code, perf_counter() - self._start)


def _bind_entry(plugin: Plugin, point_name: str) -> Bound:
    point = POINT_BY_NAME[point_name]
    for method in point.entries:
        if getattr(plugin, method.name, None) is not None:
            return Bound(plugin, method.name, point)
    raise TypeError(f"{plugin!r} is not on {point_name}")  # the configuration's expansion has seen to it
