"""Calls: the first member of a group that finds a node calls the others, whatever they wait for.

If one of them finds no node, all give up, and those that were called but not tried yet come too late. The first of
these may call once more: what does not fit may be the one that gave up, and the group has enough without it. After
that nothing is new, and it ends::

    found a node, comes by itself ──▶ call ──▶ given up ──▶ comes late: second call ──▶ given up ──▶ too late

Else a group that does not fit would call itself for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.model import Pod


class Reason(Enum):
    """Why a member is tried."""

    #: Something happened that concerns it, or it is new.
    NEWS = 0
    CALL = 1
    SECOND_CALL = 2


class Calls:
    """The latest call in every group, and who has not come yet."""

    def __init__(self) -> None:
        #: Group → which call it was, and the uids of those who were called and have not been tried since.
        self._latest: dict[str, tuple[Reason, set[str]]] = {}

    def call(self, key: str, members: Iterable[Pod], *, because: Reason) -> None:
        """A member that came for that reason calls *members*. Gated ones cannot hear it."""
        reason = Reason.CALL if because is Reason.NEWS else Reason.SECOND_CALL
        self._latest[key] = reason, {pod.uid for pod in members if not pod.spec.scheduling_gates}

    def answer(self, key: str, pod: Pod) -> Reason:
        """*pod* is being tried; why."""
        reason, expected = self._latest.get(key, (Reason.NEWS, set()))
        if pod.uid not in expected:
            return Reason.NEWS
        expected.remove(pod.uid)
        if not expected:
            self.forget(key)
        return reason

    def __len__(self) -> int:
        """How many groups have called somebody who has not come yet."""
        return len(self._latest)

    def forget(self, key: str) -> None:
        """Whoever comes from now on comes by itself."""
        self._latest.pop(key, None)
