"""Pods that wait for something to happen: rejected ones, and gated ones that were never tried.

They are filed by the plugins that hold them, so that an event looks only at pods that it can be about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bayplan.queue.pod_info import QueuedPodInfo


class UnschedulablePods:
    """Pods by key (`namespace/name`), and by the plugins that rejected them."""

    def __init__(self) -> None:
        self._pods: dict[str, QueuedPodInfo] = {}
        self._gated: set[str] = set()
        #: Plugin → keys; a dict where order matters and values do not.
        self._by_plugin: dict[str, dict[str, None]] = {}
        #: Key → the plugins under which the pod is filed.
        self._filed: dict[str, frozenset[str]] = {}

    def put(self, info: QueuedPodInfo) -> bool:
        """Add the pod, or file it anew; whether it was not there before."""
        key = info.key
        is_new = key not in self._pods
        self._pods[key] = info
        (self._gated.add if info.is_gated else self._gated.discard)(key)
        plugins = frozenset(info.rejectors)
        if self._filed.get(key) != plugins:
            self._unfile(key)
            self._filed[key] = plugins
            for plugin in plugins:
                self._by_plugin.setdefault(plugin, {})[key] = None
        return is_new

    def remove(self, key: str) -> QueuedPodInfo | None:
        info = self._pods.pop(key, None)
        if info is not None:
            self._gated.discard(key)
            self._unfile(key)
        return info

    def _unfile(self, key: str) -> None:
        for plugin in self._filed.pop(key, ()):
            keys = self._by_plugin[plugin]
            del keys[key]
            if not keys:
                del self._by_plugin[plugin]

    def get(self, key: str) -> QueuedPodInfo | None:
        return self._pods.get(key)

    def held_by(self, plugins: Iterable[str]) -> list[QueuedPodInfo]:
        """The pods that any of *plugins* rejected."""
        if not self._by_plugin:
            return []
        keys: dict[str, None] = {}
        for plugin in plugins:
            keys.update(self._by_plugin.get(plugin, {}))
        return [self._pods[key] for key in keys]

    @property
    def n_gated(self) -> int:
        return len(self._gated)

    def __len__(self) -> int:
        """Gated pods included."""
        return len(self._pods)

    def __contains__(self, key: str) -> bool:
        return key in self._pods

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return iter(self._pods.values())

    def problems(self) -> Iterator[str]:
        """What is wrong inside; nothing, unless there is a bug."""
        for key, info in self._pods.items():
            if info.key != key:
                yield f"{info.key} is filed as {key}"
            if (key in self._gated) != info.is_gated:
                yield f"{key} is counted as gated, or not, against what it is"
            filed = {plugin for plugin, keys in self._by_plugin.items() if key in keys}
            if filed != info.rejectors:
                yield f"{key} is filed under {sorted(filed)}, rejected by {sorted(info.rejectors)}"
        if self._gated - self._pods.keys() or self._filed.keys() != self._pods.keys():
            yield "the index knows pods that are not there"
