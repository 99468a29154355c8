"""Gates: the PreEnqueue plugins, asked before a pod enters the active or the backoff queue."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from bayplan.framework import SUCCESS, Bound, ProfilePlugins, Status
from bayplan.framework.calls import as_status
from bayplan.queue.observer import QueueObserver
from bayplan.queue.pod_info import QueuedPodInfo

logger = logging.getLogger("bayplan.queue")


class Gates:
    """The PreEnqueue plugins of all profiles."""

    def __init__(self, profiles: Mapping[str, ProfilePlugins], observer: QueueObserver) -> None:
        self._profiles = profiles
        self._observer = observer

    def check(self, info: QueuedPodInfo) -> None:
        """Ask until one refuses; the pod is gated by that one, or by none."""
        profile = self._profiles.get(info.pod.spec.scheduler_name)
        if profile is None:
            info.gating_plugin = ""
            return
        # Its time is told as a success whatever comes of it: so does kube-scheduler, by an oversight.
        with profile.timed("PreEnqueue"):
            self._ask(profile, info)

    def _ask(self, profile: ProfilePlugins, info: QueuedPodInfo) -> Status:
        for bound in _in_order(profile.on("preEnqueue"), info.gating_plugin):
            status = as_status(bound, profile.caller.call(bound, info.pod))
            if not status.is_success:
                self._close(info, bound.name, status)
                return status
        info.gating_plugin = ""
        return SUCCESS

    def _close(self, info: QueuedPodInfo, plugin: str, status: Status) -> None:
        if plugin not in info.rejectors:
            self._observer.rejector_counted(plugin, info.pod.spec.scheduler_name, 1)
        info.unschedulable_plugins.add(plugin)
        info.gating_plugin = plugin
        info.message = status.message
        if status.is_rejection:
            logger.debug("Pod is gated: pod=%s plugin=%s: %s", info.key, plugin, status.message)
        else:
            logger.error("PreEnqueue plugin failed: pod=%s plugin=%s: %s", info.key, plugin, status.message)


def _in_order(plugins: Sequence[Bound], first: str) -> Sequence[Bound]:
    """The plugin that holds the pod comes first: most often it still does."""
    return sorted(plugins, key=lambda bound: bound.name != first) if first else plugins
