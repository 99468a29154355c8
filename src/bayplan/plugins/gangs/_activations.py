"""Group activations: the first member of a group that finds a node activates the other members.

If one of them finds no node, all members give up, and those that were activated but not tried yet are too late.
The first of these may activate the group once more, because the group may have enough members without the one that
failed. After that nothing has changed, so the group stops::

    member finds a node ──▶ activation ──▶ given up ──▶ late member: second activation ──▶ given up ──▶ too late

Without this limit, a group that does not fit would activate itself forever.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.model import Pod


class ActivationReason(Enum):
    """Why a member is tried."""

    #: A cluster event that concerns it, or it is new.
    EVENT = 0
    ACTIVATION = 1
    SECOND_ACTIVATION = 2


class GroupActivations:
    """The latest activation of every group, and the members that have not been tried since."""

    def __init__(self) -> None:
        #: Group → which activation it was, and the uids of the activated members that have not been tried since.
        self._latest: dict[str, tuple[ActivationReason, set[str]]] = {}

    def record(self, key: str, members: Iterable[Pod], *, because: ActivationReason) -> None:
        """*members* are activated by a member that was itself tried for the reason *because*.

        Gated members do not count: activation does not bring them into the queue.
        """
        first = because is ActivationReason.EVENT
        reason = ActivationReason.ACTIVATION if first else ActivationReason.SECOND_ACTIVATION
        self._latest[key] = reason, {pod.uid for pod in members if not pod.spec.scheduling_gates}

    def take_reason(self, key: str, pod: Pod) -> ActivationReason:
        """Why *pod* is tried now. Its activation is used up."""
        reason, expected = self._latest.get(key, (ActivationReason.EVENT, set()))
        if pod.uid not in expected:
            return ActivationReason.EVENT
        expected.remove(pod.uid)
        if not expected:
            self.forget(key)
        return reason

    def __len__(self) -> int:
        """How many groups have activated members that have not been tried yet."""
        return len(self._latest)

    def forget(self, key: str) -> None:
        """Drop the activation: members are tried because of events from now on."""
        self._latest.pop(key, None)
