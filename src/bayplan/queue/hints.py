"""Queueing hints: whether an event makes a rejected pod worth another attempt.

Each plugin registers the events that could change its mind, and may look closer in a hint. An event asks the hints
of those plugins only that rejected the pod.
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
from bayplan.framework.extenders import EXTENDER
from bayplan.model import KubeObject, Pod
from bayplan.queue.events import QueueEvent
from bayplan.queue.pod_info import QueuedPodInfo

logger = logging.getLogger("bayplan.queue")

#: Only plugins that can turn a pod down are worth listening to.
_REJECTING_METHODS: Final = ("pre_enqueue", "pre_filter", "filter", "filter_nodes", "reserve", "permit")
_ANY_EVENT: Final = ClusterEvent(Resource.ANY, Action.ALL)
_TAINT_UPDATE: Final = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_TAINT)


class Strategy(Enum):
    """What becomes of a pod after an event."""

    #: The event does not help: the pod stays.
    SKIP = 0
    #: Worth an attempt as soon as the backoff is over.
    AFTER_BACKOFF = 1
    #: What the pod waited for has come: now.
    IMMEDIATELY = 2


class _Registration(NamedTuple):
    plugin: str
    event: ClusterEvent


class _Asked(NamedTuple):
    plugin: str
    hint: QueueingHint | None


class QueueingHints:
    """The hints of all profiles."""

    def __init__(self, profiles: Mapping[str, ProfilePlugins], *, has_extenders: bool = False) -> None:
        self._registered = {
            name: [*_registrations(profile.plugins.values(), has_extenders=has_extenders)]
            for name, profile in profiles.items()
        }
        #: Profile and event → whom to ask; filled as events come.
        self._asked: dict[tuple[str, QueueEvent], tuple[_Asked, ...]] = {}
        self._interested: dict[QueueEvent, frozenset[str]] = {}

    def interested(self, event: QueueEvent) -> frozenset[str]:
        """The plugins, of any profile, that registered for the event."""
        found = self._interested.get(event)
        if found is None:
            found = self._interested[event] = frozenset(
                plugin
                for registrations in self._registered.values()
                for plugin, registered in registrations
                if event.is_awaited_by(registered)
            )
        return found

    def _hints(self, profile_name: str, event: QueueEvent) -> tuple[_Asked, ...]:
        found = self._asked.get((profile_name, event))
        if found is None:
            found = self._asked[profile_name, event] = tuple(
                _Asked(plugin, registered.hint)
                for plugin, registered in self._registered[profile_name]
                if event.is_awaited_by(registered)
            )
        return found

    def strategy(self, info: QueuedPodInfo, event: QueueEvent, old: Any, new: Any) -> Strategy:
        """What becomes of the pod after the event; *old* and *new* are the object before and after it."""
        rejectors = info.rejectors
        if not rejectors:
            return Strategy.AFTER_BACKOFF
        if event.is_wildcard:
            # One that brings a pod is meant for that pod alone.
            is_meant = new is None or (isinstance(new, Pod) and new.uid == info.pod.uid)
            return Strategy.AFTER_BACKOFF if is_meant else Strategy.SKIP
        profile_name = info.pod.spec.scheduler_name
        if profile_name not in self._registered:
            logger.error("No queueing hints for this profile: profile=%s pod=%s", profile_name, info.key)
            return Strategy.AFTER_BACKOFF
        strategy = Strategy.SKIP
        for plugin, hint in self._hints(profile_name, event):
            if plugin not in rejectors or not _is_queued_by(plugin, hint, info.pod, event, old, new):
                continue
            if plugin in info.pending_plugins:
                return Strategy.IMMEDIATELY
            if not info.pending_plugins:
                return Strategy.AFTER_BACKOFF
            strategy = Strategy.AFTER_BACKOFF  # one of the pending plugins may still say more
        return strategy


def _registrations(plugins: Iterable[Plugin], *, has_extenders: bool) -> Iterator[_Registration]:
    if has_extenders:
        yield _Registration(EXTENDER, _ANY_EVENT)
    for plugin in plugins:
        if not any(hasattr(plugin, method) for method in _REJECTING_METHODS):
            continue
        declared = registered_events(plugin)
        events = (_ANY_EVENT,) if declared is None else tuple(declared)
        yield from (_Registration(plugin.name, event) for event in events)
        # As upstream: whoever waits for new nodes hears of taints too, because a node often comes tainted and is
        # of use only when the taint goes.
        actions = [event.action for event in events if event.resource == Resource.NODE]
        if any(Action.ADD & action for action in actions) and not any(
            Action.UPDATE_NODE_TAINT & action for action in actions
        ):
            yield _Registration(plugin.name, _TAINT_UPDATE)


def _is_queued_by(plugin: str, hint: QueueingHint | None, pod: Pod, event: QueueEvent, old: Any, new: Any) -> bool:
    """The hint's answer; no hint means yes, and so does one that raises, or the pod might be forgotten."""
    if hint is None:
        return True
    try:
        return hint(pod, old, new) is not Hint.SKIP
    except Exception:
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
