"""ClusterFeed: keeps a core in step with a cluster, through informers.

In: a core and a client. Out: every change of a pod, a node, or an object that a plugin has asked for, as an input
of the core.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from bayplan.core.messages import CustomObjectChanged, Input, ObjectChanged, SelectedObjectChanged
from bayplan.model import KubeObject, Node, Pod
from bayplan.observe import klog
from bayplan.watch.informers import InformerFactory

if TYPE_CHECKING:
    from bayplan.client import KubeClient
    from bayplan.core import SchedulerCore
    from bayplan.framework import Clock
    from bayplan.framework.object_selection import ObjectSelection

log = klog.get_logger("bayplan.shell")


class ClusterFeed:
    """The informers of one core."""

    def __init__(
        self, core: SchedulerCore, client: KubeClient, clock: Clock, handle: Callable[[Input], None]
    ) -> None:
        """*handle* takes the changes: `core.handle`, or a method that carries out instructions as well."""
        self._core = core
        self._handle = handle
        self.informers = InformerFactory(client, clock)
        self._kinds: set[type[KubeObject]] = set()
        #: apiVersion and plural.
        self._custom_kinds: set[tuple[str, str]] = set()
        self._selections: set[ObjectSelection] = set()

    def watch_what_plugins_need(self) -> None:
        """Pods, nodes, and the kinds that plugins have asked for, each once; again after plugins were replaced."""
        objects = self._core.objects
        kinds: set[type[KubeObject]] = {Pod, Node, *objects.kinds}
        for kind in kinds - self._kinds:
            self._kinds.add(kind)
            self.informers.on_change(kind, self.object_changed)
        for resource in {*objects.custom_kinds} - self._custom_kinds:
            self._custom_kinds.add(resource)
            self.informers.on_custom_change(*resource, partial(self._custom_object_changed, *resource))
        for selection in {*objects.selections} - self._selections:
            self._selections.add(selection)
            self.informers.on_selected_change(selection, partial(self._selected_object_changed, selection))

    def start(self) -> None:
        self.watch_what_plugins_need()
        self.informers.start()
        self._core.objects.on_request = self._watch_more

    def _watch_more(self) -> None:
        """A plugin has asked for objects that are not watched yet."""
        self._core.replay_known_objects()
        self.watch_what_plugins_need()

    def object_changed(self, old: KubeObject | None, new: KubeObject | None) -> None:
        self._feed(ObjectChanged(old, new))

    def _custom_object_changed(
        self, api_version: str, plural: str, old: dict[str, Any] | None, new: dict[str, Any] | None
    ) -> None:
        self._feed(CustomObjectChanged(api_version, plural, old, new))

    def _selected_object_changed(self, selection: ObjectSelection, old: Any, new: Any) -> None:
        self._feed(SelectedObjectChanged(selection, old, new))

    def _feed(self, change: Input) -> None:
        try:
            self._handle(change)
        except ValueError as error:
            # An object that cannot be read is left out; nothing else stops.
            log.error(error, "Left out")
