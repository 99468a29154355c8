"""A bounded cache whose entries expire."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

MAX_ENTRIES: Final = 4096


class ExpiringCache(Generic[T]):
    """Values by key, each with its own expiry; the oldest are dropped when there are too many."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()

    def get(self, key: Hashable, now: float) -> T | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        until, value = entry
        if now >= until:
            del self._entries[key]
            return None
        return value

    def put(self, key: Hashable, value: T, *, until: float) -> None:
        self._entries[key] = (until, value)
        self._entries.move_to_end(key)
        if len(self._entries) > MAX_ENTRIES:
            self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)
