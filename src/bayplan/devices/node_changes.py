"""NodeChanges: a log of the nodes whose devices changed. A reader remembers a position in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

MAX_LENGTH: Final = 16384


class NodeChanges:
    """See the module's docstring."""

    def __init__(self) -> None:
        self._names: list[str] = []
        #: The position of the first entry that is still there.
        self._start = 0

    @property
    def position(self) -> int:
        """The end of the log now; pass it to `since` later."""
        return self._start + len(self._names)

    def note(self, names: Iterable[str] | None) -> None:
        """These nodes changed; None for any node."""
        if names is None:
            self._start = self.position + 1
            self._names.clear()
            return
        self._names.extend(names)
        if len(self._names) > MAX_LENGTH:
            n_dropped = len(self._names) // 2
            del self._names[:n_dropped]
            self._start += n_dropped

    def since(self, position: int) -> set[str] | None:
        """The nodes that changed since *position*; None if any node may have."""
        return None if position < self._start else set(self._names[position - self._start :])
