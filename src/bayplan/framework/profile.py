"""ProfilePlugins: the plugins of one profile, placed on their extension points and ready to be called.

The two runners, of the scheduling and of the binding cycle, both work on one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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

    @contextmanager
    def timed(self, title: str) -> Iterator[Callable[[Status], Status]]:
        """Times an extension point; the yielded function notes the status it ended with and returns it."""
        start = perf_counter()
        code = Code.SUCCESS

        def done(status: Status) -> Status:
            nonlocal code
            code = status.code
            return status

        try:
            yield done
        finally:
            self.caller.observer.point_done(title, code, perf_counter() - start)


def _bind_entry(plugin: Plugin, point_name: str) -> Bound:
    point = POINT_BY_NAME[point_name]
    for method in point.entries:
        if getattr(plugin, method.name, None) is not None:
            return Bound(plugin, method.name, point)
    raise TypeError(f"{plugin!r} is not on {point_name}")  # the configuration's expansion has seen to it
