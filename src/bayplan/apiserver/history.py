"""The changes of one resource, oldest first: what a watch reads, and how a list sees an earlier version.

Bounded by its owner. What was dropped is known by `floor`: from there on the history is whole.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from bayplan.apiserver.store import Entry, Key

_version = attrgetter("version")


class Change(msgspec.Struct, frozen=True, gc=False):
    """One step of the history. A created object has no `before`, a deleted one no `after`."""

    version: int
    before: Entry | None
    after: Entry | None

    @property
    def key(self) -> Key:
        entry = self.after or self.before
        assert entry is not None  # noqa: S101  a change of nothing is none
        return entry.key


class ExpiredError(Exception):
    """The version asked for is older than what is remembered."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")
        self.asked = asked
        self.oldest = oldest


class History:
    """See the module's text."""

    def __init__(self) -> None:
        self._changes: list[Change] = []
        #: The version of the last change that was dropped; what came after is all there.
        self.floor = 0

    def __len__(self) -> int:
        return len(self._changes)

    def append(self, change: Change) -> None:
        self._changes.append(change)

    def since(self, version: int) -> list[Change]:
        """All changes after *version*."""
        if version < self.floor:
            raise ExpiredError(version, self.floor)
        changes = self._changes
        if not changes or changes[-1].version <= version:
            return []
        return changes[bisect_right(changes, version, key=_version) :]

    def between(self, version: int, last: int) -> list[Change]:
        """The changes after *version*, up to *last* and with it."""
        changes = self.since(version)
        if changes and changes[-1].version > last:
            del changes[bisect_right(changes, last, key=_version) :]
        return changes

    def drop_oldest(self, count: int) -> list[Change]:
        """Forget the first changes; returns them."""
        dropped = self._changes[:count]
        if dropped:
            del self._changes[:count]
            self.floor = dropped[-1].version
        return dropped

    def drop_until(self, version: int) -> list[Change]:
        """Forget the changes up to *version*; returns them."""
        return self.drop_oldest(bisect_right(self._changes, version, key=_version))

    def begin_at(self, version: int) -> None:
        """What happened up to *version* was forgotten earlier."""
        self.floor = max(self.floor, version)
