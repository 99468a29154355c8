"""Verdict: one Filter plugin's answer about all nodes at once.

The column form states its rejections as masks, each with one reason; the per-node form gives a Status per
rejected node. Either way a verdict tells which nodes are rejected, and why a given one is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayplan.framework.status import Code, Status

BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
#: int64, or int32 where the numbers are known to be small: half the way for what passes over it.
ScoreArray: TypeAlias = NDArray[np.signedinteger[Any]]

_UINT32: Final = np.dtype(np.uint32)
_UINT64: Final = np.dtype(np.uint64)


def has_any(mask: BoolArray) -> bool:
    """`mask.any()`, in a third of the time."""
    return bool(mask.size and mask[mask.argmax()])


def extremes(column: IntArray) -> tuple[int, int]:
    """The lowest and the highest entry of a column that is not empty: `min()` and `max()`, in half the time."""
    return int(column[column.argmin()]), int(column[column.argmax()])


def are_within(column: ScoreArray, highest: int) -> bool:
    """Whether every entry is from 0 to *highest*."""
    # Negative numbers are vast without their sign.
    unsigned: NDArray[Any] = column.view(_UINT32 if column.itemsize == 4 else _UINT64)
    return not len(column) or bool(unsigned.item(unsigned.argmax()) <= highest)


class Rejection(NamedTuple):
    """The nodes that fail for one reason."""

    #: bool, shape (n_nodes,)
    where: BoolArray
    reason: str
    code: Code


class Verdict:
    """What one plugin decided for every node of a table; immutable."""

    __slots__ = ("n_nodes", "rejections", "statuses")

    def __init__(
        self,
        n_nodes: int,
        rejections: tuple[Rejection, ...] = (),
        statuses: Mapping[int, Status] | None = None,
    ) -> None:
        self.n_nodes = n_nodes
        #: In the order in which the reasons are listed for a node.
        self.rejections = rejections
        #: Position of the node in the table → its status; what a per-node plugin said.
        self.statuses: Mapping[int, Status] = statuses or {}

    def reject(self, where: BoolArray, reason: str, code: Code = Code.UNSCHEDULABLE) -> Verdict:
        """This verdict, and *reason* too for the nodes in *where*; a node may fail for several reasons."""
        if where.shape != (self.n_nodes,) or where.dtype != np.bool_:
            raise ValueError(
                f"a mask must be bool with one entry per node ({self.n_nodes}), "
                f"got {where.dtype} of shape {where.shape}"
            )
        if not (code.is_rejection or code is Code.ERROR):
            raise ValueError(f"a node cannot be rejected with {code.label}")
        if where.base is not None:
            where = where.copy()  # it may be a column of the scheduler's, which goes on changing
        return Verdict(self.n_nodes, (*self.rejections, Rejection(where, reason, code)), self.statuses)

    def fits(self, n_nodes: int) -> bool:
        """Whether this can be about *n_nodes* nodes."""
        return self.n_nodes == n_nodes and all(0 <= position < n_nodes for position in self.statuses)

    @property
    def accepts_all(self) -> bool:
        """Whether nothing is rejected for sure; False may still turn out to reject no node."""
        return not self.rejections and not self.statuses

    @property
    def rejected(self) -> BoolArray:
        """bool, shape (n_nodes,)."""
        if len(self.rejections) == 1 and not self.statuses:
            return self.rejections[0].where
        mask = np.zeros(self.n_nodes, dtype=np.bool_)
        for rejection in self.rejections:
            mask |= rejection.where
        if self.statuses:
            mask[list(self.statuses)] = True
        return mask

    def failure(self, where: BoolArray) -> Status | None:
        """An ERROR on a node in *where*; it ends the attempt, whatever the other nodes say."""
        for rejection in self.rejections:
            if rejection.code is Code.ERROR and (rejection.where & where).any():
                return Status(Code.ERROR, (rejection.reason,))
        return None

    def status(self, position: int) -> Status | None:
        """Why the node at *position* is rejected; None if it is not."""
        if position in self.statuses:
            return self.statuses[position]
        found = [rejection for rejection in self.rejections if rejection.where[position]]
        if not found:
            return None
        # One unresolvable reason is enough: removing pods cannot make the node fit.
        code = max((rejection.code for rejection in found), key=_severity)
        return Status(code, [rejection.reason for rejection in found])


def _severity(code: Code) -> int:
    return (
        Code.PENDING,
        Code.UNSCHEDULABLE,
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        Code.ERROR,
    ).index(code)
