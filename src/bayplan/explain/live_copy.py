"""LiveCopy: a core of our own that is brought up to date with a running one, a few objects at a time.

What-ifs need a core that nobody schedules with. Objects are immutable and shared, so what differs is found by
identity, and bringing the copy up to date costs little after the first time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from bayplan.core import SchedulerCore
from bayplan.explain.cluster_objects import feed
from bayplan.explain.what_if_scheduler import ObjectChange, WhatIfScheduler

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.framework import Clock, Registry
    from bayplan.model import KubeObject

#: How many objects are compared, and how many changed, in one step.
_COMPARED: Final = 2000
_CHANGED: Final = 25


class LiveCopy:
    """See the module docstring."""

    def __init__(
        self,
        live: SchedulerCore,
        loaded: Loaded,
        registry: Registry,
        clock: Clock,
        *,
        breathe: Callable[[], None] = lambda: None,
    ) -> None:
        """*breathe*: see `WhatIfScheduler`."""
        self._live = live
        core = SchedulerCore(loaded, registry, clock=clock, schedules_pods=False, seed=0)
        self.scheduler = WhatIfScheduler(core, breathe=breathe)
        #: Kind and key → the object, as the copy has it.
        self._known: dict[tuple[type, str], KubeObject] = {}

    def steps(self) -> Iterator[None]:
        """Bring the copy up to date; each step takes about a millisecond."""
        present: dict[tuple[type, str], KubeObject] = {}
        for values in self._collections():
            for number, value in enumerate(values, start=1):
                present[type(value), value.key] = value
                if number % _COMPARED == 0:
                    yield
            yield
        yield from self._copy_custom_and_selected()
        gone = [key for key in self._known if key not in present]
        n_changed = 0
        for key in gone:
            self._change(key, None)
            n_changed += 1
            if n_changed % _CHANGED == 0:
                yield
        for number, (key, value) in enumerate(present.items(), start=1):
            if self._known.get(key) is not value:
                self._change(key, value)
                n_changed += 1
            if n_changed % _CHANGED == _CHANGED - 1 or number % _COMPARED == 0:
                yield

    def _copy_custom_and_selected(self) -> Iterator[None]:
        """Custom resources, and the parts of resources that plugins have asked for."""
        theirs, ours = self._live.objects, self.scheduler.core.objects
        for resource in theirs.custom_kinds:
            ours.custom(*resource).follow(theirs.custom(*resource))
            yield
        for selection in theirs.selections:
            ours.selected(selection).follow(theirs.selected(selection))
            yield

    def _collections(self) -> Iterator[Sequence[KubeObject]]:
        """Everything that the running core has."""
        live = self._live
        for kind in live.objects.kinds:
            yield live.objects.lister(kind).list()
        yield [info.node for info in live.cache.snapshot().nodes]
        yield list(live.pods.values())
        # Pods that are assumed are on their nodes, whatever the watch has shown.
        yield list(live.cache.snapshot().pods())

    def _change(self, key: tuple[type, str], value: KubeObject | None) -> None:
        old = self._known.pop(key, None)
        if value is not None:
            self._known[key] = value
        if old is None and value is not None:
            feed(self.scheduler.core, (value,))
        else:
            self.scheduler.make(ObjectChange(old, value))
