"""Checks the order of a QueueSort plugin: that any two pods can be compared.

Pods come from many users. Those with and without the labels and annotations that the plugin reads, and with values
of any form, meet in one queue.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec.structs import force_setattr

from bayplan.framework import Plugin
from bayplan.framework.calls import contain
from bayplan.framework.plugin import defines
from bayplan.model import Pod
from bayplan.queue import QueuedPodInfo
from bayplan.testing.builders import make_pod

#: Values that users write to labels and annotations.
_VALUES: Final = ("1", "2.5", "text", "2026-01-01T00:00:00Z", "")


class _Asked(dict[str, str]):
    """Labels or annotations that note which of them are read."""

    def __init__(self, keys: set[str]) -> None:
        super().__init__()
        self._keys = keys

    def get(self, key: str, default: Any = None) -> Any:
        self._keys.add(key)
        return default

    def __getitem__(self, key: str) -> str:
        self._keys.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._keys.add(str(key))
        return False


def find_queue_faults(plugin: Plugin, pods: Iterable[Pod]) -> Iterator[str]:
    """Why the queue cannot be ordered by *plugin*, worded for its author."""
    infos = [QueuedPodInfo(pod, float(number)) for number, pod in enumerate([*pods, *_variants(plugin)])]
    faults = _sort_key_faults(plugin, infos) if defines(plugin, "sort_key") else _less_faults(plugin, infos)
    first = next(faults, None)
    if first is not None:
        yield first


def _variants(plugin: Plugin) -> Iterator[Pod]:
    """A pod for each label and annotation that the plugin reads, and each form of its value."""
    for field in ("labels", "annotations"):
        for key, value in itertools.product(sorted(_keys_read(plugin, field)), _VALUES):
            metadata = {field: {key: value}}
            yield make_pod(f"with {key}={value!r} in its {field}", metadata=metadata)


def _keys_read(plugin: Plugin, field: str) -> set[str]:
    keys: set[str] = set()
    pod = make_pod("p")
    force_setattr(pod.metadata, field, _Asked(keys))
    info: Any = QueuedPodInfo(pod, 0.0)
    try:
        plugin.sort_key(info) if defines(plugin, "sort_key") else plugin.less(info, info)
    except BaseException as error:
        contain(error)  # found again with a pod that can be named
    return keys


def _sort_key_faults(plugin: Any, infos: list[QueuedPodInfo]) -> Iterator[str]:
    keys = {}
    for info in infos:
        try:
            keys[info.key] = plugin.sort_key(info)
        except BaseException as error:
            contain(error)
            yield f"sort_key raised for the pod {info.pod.name}: {_told(error)}"
            return
    for (one, first), (other, second) in itertools.combinations(keys.items(), 2):
        names = f"{one} ({first!r:.40}) and {other} ({second!r:.40})"
        try:
            has_order = bool(first < second) or bool(second < first) or bool(first == second)
        except BaseException as error:
            contain(error)
            yield f"sort_key gives keys that cannot be compared, for the pods {names}: {_told(error)}"
        else:
            if not has_order:
                yield f"sort_key gives keys without an order, neither smaller nor equal, for the pods {names}"


def _less_faults(plugin: Any, infos: list[QueuedPodInfo]) -> Iterator[str]:
    for first, second in itertools.permutations(infos, 2):
        try:
            bool(plugin.less(first, second))
        except BaseException as error:
            contain(error)
            yield f"less raised for the pods {first.pod.name} and {second.pod.name}: {_told(error)}"


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
