"""The heap under the active and the backoff queue, and the order that the QueueSort plugin gives it."""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, TypeAlias

from bayplan.framework import Plugin
from bayplan.queue.pod_info import QueuedPodInfo

logger = logging.getLogger("bayplan.queue")

#: Smaller keys go first.
SortKey: TypeAlias = Callable[[QueuedPodInfo], Any]

#: Below this many entries, dead ones are not worth clearing away.
_MIN_CLEARED = 64


class PodHeap:
    """Pods by key (`namespace/name`), the first of them at hand. Equals leave in the order they came.

    A removed pod leaves a dead entry behind, which is dropped when it comes up or when the dead are the majority.
    A key may have grown since (a pod's group has failed, say): the pod that comes up is asked for it again.
    """

    def __init__(self, sort_key: SortKey) -> None:
        self._sort_key = sort_key
        self._numbers = itertools.count()
        #: [sort key, number of arrival, number of the entry, info], info None once dead.
        self._heap: list[list[Any]] = []
        self._entries: dict[str, list[Any]] = {}

    def add(self, info: QueuedPodInfo) -> None:
        """Add a pod, or put it where it belongs now."""
        old = self._entries.get(info.key)
        if old is not None:
            old[3] = None
        number = next(self._numbers)
        entry = [self._sort_key(info), number if old is None else old[1], number, info]
        self._entries[info.key] = entry
        heappush(self._heap, entry)
        if len(self._heap) > _MIN_CLEARED and len(self._heap) > 2 * len(self._entries):
            self._heap = list(self._entries.values())
            heapify(self._heap)

    def sort_by(self, sort_key: SortKey) -> None:
        """The order is another one from now on."""
        self._sort_key = sort_key
        for entry in self._entries.values():
            entry[0] = sort_key(entry[3])
        self._heap = list(self._entries.values())
        heapify(self._heap)

    def get(self, key: str) -> QueuedPodInfo | None:
        entry = self._entries.get(key)
        return None if entry is None else entry[3]

    def remove(self, key: str) -> QueuedPodInfo | None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        info: QueuedPodInfo = entry[3]
        entry[3] = None
        return info

    def peek(self) -> QueuedPodInfo | None:
        heap = self._heap
        while heap:
            first = heap[0]
            if first[3] is None:
                heappop(heap)
            elif (key := self._sort_key(first[3])) != first[0]:
                first[0] = key
                heapreplace(heap, first)
            else:
                return first[3]  # type: ignore[no-any-return]
        return None

    def pop(self) -> QueuedPodInfo | None:
        info = self.peek()
        if info is not None:
            self.remove(info.key)
            heappop(self._heap)
        return info

    @property
    def n_entries(self) -> int:
        """Dead ones included."""
        return len(self._heap)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """In order."""
        return (entry[3] for entry in sorted(self._entries.values()))

    def problems(self) -> Iterator[str]:
        """What is wrong inside; nothing, unless there is a bug."""
        for key, entry in self._entries.items():
            if entry[3] is None or entry[3].key != key:
                yield f"{key} is filed as {entry[3]}"
        for child in range(1, len(self._heap)):
            if self._heap[child] < self._heap[(child - 1) // 2]:
                yield f"entry {child} of the heap is before its parent"
        if sum(entry[3] is not None for entry in self._heap) != len(self._entries):
            yield "the heap and its index differ"


def sort_key_of(plugin: Plugin) -> SortKey:
    """The order of a QueueSort plugin, whichever of its two forms it has.

    Where the plugin raises, the pod is put behind the others, or two pods are taken for equal.
    """
    if hasattr(plugin, "sort_key"):
        return functools.partial(_guarded_key, plugin.sort_key, plugin.name)
    return functools.cmp_to_key(functools.partial(_compare, plugin.less, plugin.name))  # type: ignore[attr-defined]


def _guarded_key(sort_key: SortKey, plugin_name: str, info: QueuedPodInfo) -> tuple[int, Any]:
    try:
        return 0, sort_key(info)
    except Exception:
        logger.exception("Plugin raised: plugin=%s point=QueueSort pod=%s", plugin_name, info.key)
        return 1, info.timestamp


def _compare(
    less: Callable[[QueuedPodInfo, QueuedPodInfo], bool],
    plugin_name: str,
    first: QueuedPodInfo,
    second: QueuedPodInfo,
) -> int:
    try:
        return -1 if less(first, second) else int(less(second, first))
    except Exception:
        logger.exception("Plugin raised: plugin=%s point=QueueSort", plugin_name)
        return 0
