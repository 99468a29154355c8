"""Queueing hints: whether an event makes a rejected pod worth another attempt.

Each plugin registers the events that could change its decision, with an optional hint function that looks closer.
An event calls the hints only of plugins that rejected the pod.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

from bayplan.framework import (
    Action,
    ClusterEvent,
    Hint,
    Plugin,
    ProfilePlugins,
    QueueingHint,
    Resource,
    registered_events,
)
from bayplan.framework.calls import contain
from bayplan.framework.extenders import EXTENDER
from bayplan.framework.plugin import defines
from bayplan.model import KubeObject, Pod
from bayplan.queue.cluster_events import QueueEvent
from bayplan.queue.pod_info import QueuedPodInfo
from bayplan.release import DEFAULT, ReleaseFacts

logger = logging.getLogger("bayplan.queue")

#: Only plugins that can reject a pod have events to wait for.
_REJECTING_METHODS: Final = ("pre_enqueue", "pre_filter", "filter", "filter_nodes", "reserve", "permit")
_ANY_EVENT: Final = ClusterEvent(Resource.ANY, Action.ALL)
_TAINT_UPDATE: Final = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_TAINT)


class QueueingStrategy(Enum):
    """Where a pod goes after an event."""

    #: The event does not help: the pod stays unschedulable.
    SKIP = 0
    #: To the backoff queue, or to the active one if its backoff is over.
    AFTER_BACKOFF = 1
    #: What the pod waited for has happened: to the active queue.
    IMMEDIATELY = 2


class _Registration(NamedTuple):
    plugin: str
    event: ClusterEvent


class _PluginHint(NamedTuple):
    plugin: str
    hint: QueueingHint | None


class QueueingHints:
    """The hints of all profiles."""

    def __init__(
        self,
        profiles: Mapping[str, ProfilePlugins],
        *,
        has_extenders: bool = False,
        facts: ReleaseFacts = DEFAULT.facts,
    ) -> None:
        self._registered = {
            name: [*_registrations(profile.plugins.values(), facts, has_extenders=has_extenders)]
            for name, profile in profiles.items()
        }
        #: Profile and event → the hints to call; filled as events come.
        self._by_event: dict[tuple[str, QueueEvent], tuple[_PluginHint, ...]] = {}
        self._interested: dict[QueueEvent, frozenset[str]] = {}

    def interested(self, event: QueueEvent) -> frozenset[str]:
        """The plugins, of any profile, that registered for the event."""
        found = self._interested.get(event)
        if found is None:
            found = self._interested[event] = frozenset(
                plugin
                for registrations in self._registered.values()
                for plugin, registered in registrations
                if event.matches(registered)
            )
        return found

    def _hints(self, profile_name: str, event: QueueEvent) -> tuple[_PluginHint, ...]:
        found = self._by_event.get((profile_name, event))
        if found is None:
            found = self._by_event[profile_name, event] = tuple(
                _PluginHint(plugin, registered.hint)
                for plugin, registered in self._registered[profile_name]
                if event.matches(registered)
            )
        return found

    def strategy(self, info: QueuedPodInfo, event: QueueEvent, old: Any, new: Any) -> QueueingStrategy:
        """Where the pod goes after the event; *old* and *new* are the object before and after it."""
        rejectors = info.rejectors
        if not rejectors:
            return QueueingStrategy.AFTER_BACKOFF
        if event.is_wildcard:
            # A wildcard event with a pod concerns that pod alone.
            is_concerned = new is None or (isinstance(new, Pod) and new.uid == info.pod.uid)
            return QueueingStrategy.AFTER_BACKOFF if is_concerned else QueueingStrategy.SKIP
        profile_name = info.pod.spec.scheduler_name
        if profile_name not in self._registered:
            logger.error("No queueing hints for this profile: profile=%s pod=%s", profile_name, info.key)
            return QueueingStrategy.AFTER_BACKOFF
        strategy = QueueingStrategy.SKIP
        for plugin, hint in self._hints(profile_name, event):
            if plugin not in rejectors or not _is_queued_by(plugin, hint, info.pod, event, old, new):
                continue
            if plugin in info.pending_plugins:
                return QueueingStrategy.IMMEDIATELY
            if not info.pending_plugins:
                return QueueingStrategy.AFTER_BACKOFF
            strategy = QueueingStrategy.AFTER_BACKOFF  # a pending plugin may follow
        return strategy


def _registrations(
    plugins: Iterable[Plugin], facts: ReleaseFacts, *, has_extenders: bool
) -> Iterator[_Registration]:
    if has_extenders:
        yield _Registration(EXTENDER, _ANY_EVENT)
    for plugin in plugins:
        if not any(defines(plugin, method) for method in _REJECTING_METHODS):
            continue
        declared = registered_events(plugin)
        events = (_ANY_EVENT,) if declared is None else tuple(declared)
        yield from (_Registration(plugin.name, event) for event in events)
        if not facts.adds_taint_updates_to_new_nodes:
            continue
        # A node is often tainted at first and usable only once the taint is removed.
        actions = [event.action for event in events if event.resource == Resource.NODE]
        if any(Action.ADD & action for action in actions) and not any(
            Action.UPDATE_NODE_TAINT & action for action in actions
        ):
            yield _Registration(plugin.name, _TAINT_UPDATE)


def _is_queued_by(plugin: str, hint: QueueingHint | None, pod: Pod, event: QueueEvent, old: Any, new: Any) -> bool:
    """The hint's result; yes without a hint, and yes if it raises, so that the pod is not stuck."""
    if hint is None:
        return True
    try:
        return hint(pod, old, new) is not Hint.SKIP
    except BaseException as error:
        contain(error)
        logger.exception(
            "Queueing hint raised: plugin=%s pod=%s event=%s object=%s",
            plugin,
            pod.key,
            event.label,
            _name(new if new is not None else old),
        )
        return True


def _name(value: Any) -> str:
    return value.key if isinstance(value, KubeObject) else type(value).__name__
