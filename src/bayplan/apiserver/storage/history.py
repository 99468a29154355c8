"""The changes of one resource, oldest first: watches read it, and lists of earlier versions are computed from it.

Its owner bounds it. `floor` is the version up to which changes have been dropped.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from bayplan.apiserver.storage.versioned_store import Key, StoredObject

_version = attrgetter("version")


class Change(msgspec.Struct, frozen=True, gc=False):
    """One change. A created object has no `before`, a deleted one no `after`."""

    version: int
    before: StoredObject | None
    after: StoredObject | None

    @property
    def key(self) -> Key:
        entry = self.after or self.before
        assert entry is not None  # noqa: S101  a change of nothing is none
        return entry.key


class CompactedError(Exception):
    """The requested version is older than the history."""

    def __init__(self, requested: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {requested} ({oldest})")
        self.requested = requested
        self.oldest = oldest


class History:
    """See the module docstring."""

    def __init__(self) -> None:
        self._changes: list[Change] = []
        #: The version of the last dropped change; all later changes are there.
        self.floor = 0

    def __len__(self) -> int:
        return len(self._changes)

    def append(self, change: Change) -> None:
        self._changes.append(change)

    def since(self, version: int) -> list[Change]:
        """All changes after *version*."""
        if version < self.floor:
            raise CompactedError(version, self.floor)
        changes = self._changes
        if not changes or changes[-1].version <= version:
            return []
        return changes[bisect_right(changes, version, key=_version) :]

    def between(self, version: int, last: int) -> list[Change]:
        """The changes after *version*, up to and including *last*."""
        changes = self.since(version)
        if changes and changes[-1].version > last:
            del changes[bisect_right(changes, last, key=_version) :]
        return changes

    def drop_oldest(self, count: int) -> list[Change]:
        """Drop the first changes; returns them."""
        dropped = self._changes[:count]
        if dropped:
            del self._changes[:count]
            self.floor = dropped[-1].version
        return dropped

    def drop_until(self, version: int) -> list[Change]:
        """Drop the changes up to *version*; returns them."""
        return self.drop_oldest(bisect_right(self._changes, version, key=_version))

    def begin_at(self, version: int) -> None:
        """Changes up to *version* were dropped earlier."""
        self.floor = max(self.floor, version)
