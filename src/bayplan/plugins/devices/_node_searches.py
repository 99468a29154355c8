"""The search for devices on many nodes: one for each class of nodes, and again only for nodes that changed.

Nodes of one class (see `bayplan.devices.node_classes`) have the same outcome, and claims with the same
specification too. So outcomes are remembered by specification and class, and the class of a node is worked out
again only when its devices, or what is taken of them, have changed. Tests verify that the outcomes are those of a
search on every node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bayplan.devices import (
    AllocationError,
    AllocationTimeout,
    ClaimPlan,
    Found,
    NodeAllocationError,
    SearchContext,
    search,
)
from bayplan.framework import IntArray, Status

if TYPE_CHECKING:
    from bayplan.devices import Deadline, DeviceManager
    from bayplan.framework import Handle, NodeTable
    from bayplan.model import HasLabels

#: Outcomes on a node.
FITS: Final = 0
CANNOT: Final = 1
#: The node has a status of its own.
FAILED: Final = 2
_UNKNOWN: Final = -1

TIMED_OUT: Final = "timed out trying to allocate devices"
_MAX_ALTERNATIVES: Final = 8
#: Specifications to remember outcomes for, and classes to give numbers to.
MAX_SPECIFICATIONS: Final = 256
MAX_CLASSES: Final = 100_000


class Outcomes(NamedTuple):
    """The outcome on each of some nodes."""

    #: int8, one for each position that was asked for.
    codes: NDArray[np.int8]
    #: Position in the table → why there is no outcome.
    statuses: dict[int, Status]
    #: Preferences, one for each position; None if no claim has alternatives.
    scores: IntArray | None


class _KnownOutcomes:
    """The outcomes for claims of one specification, by class of nodes."""

    __slots__ = ("codes", "scores")

    def __init__(self) -> None:
        self.codes = np.full(64, _UNKNOWN, dtype=np.int8)
        self.scores = np.zeros(64, dtype=np.int64)

    def make_room(self, n_classes: int) -> None:
        if n_classes > len(self.codes):
            more = max(n_classes, 2 * len(self.codes)) - len(self.codes)
            self.codes = np.append(self.codes, np.full(more, _UNKNOWN, dtype=np.int8))
            self.scores = np.append(self.scores, np.zeros(more, dtype=np.int64))


class NodeSearches:
    """Searches devices for the claims of a pod on any number of nodes."""

    def __init__(self, handle: Handle, timeout_seconds: float) -> None:
        self._handle = handle
        self._manager: DeviceManager = handle.devices
        self._clock = handle.clock
        self._timeout_seconds = timeout_seconds
        #: By row of the snapshot: the number of the node's class; up to date as of two positions.
        self._classes: IntArray = np.zeros(0, dtype=np.int64)
        self._node_position = self._device_position = -1
        self._known: dict[Hashable, _KnownOutcomes] = {}

    def device_classes_changed(self) -> None:
        """Outcomes may be different from now on."""
        self._known.clear()

    # --- many nodes -------------------------------------------------------------------------------

    def outcomes(self, plans: Sequence[ClaimPlan], nodes: NodeTable, positions: IntArray) -> Outcomes:
        self._update_classes()
        classes = self._classes[nodes.rows[positions]]
        known = self._known_for(plans)
        codes = known.codes[classes]
        if len(codes) and codes.min() == _UNKNOWN:
            self._learn(known, plans, nodes, positions[codes == _UNKNOWN], classes[codes == _UNKNOWN])
            codes = known.codes[classes]
        statuses = self._statuses(plans, nodes, positions[codes == FAILED])
        for position in positions[codes == _UNKNOWN].tolist():
            statuses[position] = Status.failed(f"node {nodes.names[position]}: {TIMED_OUT}")
        codes[codes == _UNKNOWN] = FAILED
        has_alternatives = any(request[0].parent for plan in plans for request in plan.requests)
        return Outcomes(codes, statuses, known.scores[classes] if has_alternatives else None)

    def _known_for(self, plans: Sequence[ClaimPlan]) -> _KnownOutcomes:
        key = tuple([msgspec.msgpack.encode(plan.claim.spec) for plan in plans])
        known = self._known.pop(key, None)
        if known is None:
            known = _KnownOutcomes()
            if len(self._known) >= MAX_SPECIFICATIONS:
                del self._known[next(iter(self._known))]
        self._known[key] = known  # the one used last comes last
        known.make_room(len(self._manager.classes))
        return known

    def _learn(
        self,
        known: _KnownOutcomes,
        plans: Sequence[ClaimPlan],
        nodes: NodeTable,
        positions: IntArray,
        classes: IntArray,
    ) -> None:
        """Search on one node of each class. A class whose search takes too long stays unknown."""
        unknown, firsts = np.unique(classes, return_index=True)
        for number, position in zip(unknown.tolist(), positions[firsts].tolist(), strict=True):
            try:
                known.codes[number], known.scores[number] = self._outcome(plans, nodes[position].node)
            except AllocationTimeout:
                continue

    def _outcome(self, plans: Sequence[ClaimPlan], node: HasLabels) -> tuple[int, int]:
        found = self._try(plans, node)
        if found is None:
            return CANNOT, 0
        return (FAILED, 0) if isinstance(found, Status) else (FITS, preference(plans, found))

    def _statuses(self, plans: Sequence[ClaimPlan], nodes: NodeTable, failed: IntArray) -> dict[int, Status]:
        """The texts of failures name claims and devices, so each node has its own."""
        statuses = {}
        for position in failed.tolist():
            found = self._try(plans, nodes[position].node)
            if isinstance(found, Status):
                statuses[position] = found
        return statuses

    # --- classes ----------------------------------------------------------------------------------

    def _update_classes(self) -> None:
        snapshot, changes = self._handle.snapshot, self._manager.index.changes
        if len(self._manager.classes) > MAX_CLASSES:
            self._manager.classes.clear()
            self._known.clear()
            self._node_position = -1
        rows = self._changed_rows()
        nodes = snapshot.nodes
        if rows is None:
            rows = range(len(nodes))
            self._classes = np.zeros(len(nodes), dtype=np.int64)
        for row in rows:
            self._classes[row] = self._manager.classes.number(nodes[row].node)
        self._node_position = snapshot.node_changes.position
        self._device_position = changes.position

    def _changed_rows(self) -> Sequence[int] | None:
        """The rows whose class may be another now; None for all."""
        snapshot = self._handle.snapshot
        if self._node_position < 0 or len(self._classes) != len(snapshot.nodes):
            return None
        moved = snapshot.node_changes.since(self._node_position)
        names = self._manager.index.changes.since(self._device_position)
        if moved is None or names is None:
            return None
        rows = set(moved.tolist())
        rows.update(row for name in names if (row := snapshot.nodes.position(name)) is not None)
        return list(rows)

    # --- one node ---------------------------------------------------------------------------------

    def _try(self, plans: Sequence[ClaimPlan], node: HasLabels) -> Found | Status | None:
        try:
            return self.find(plans, node)
        except NodeAllocationError as error:
            return Status.unresolvable(str(error))
        except AllocationError as error:
            return Status.failed(str(error))

    def find(self, plans: Sequence[ClaimPlan], node: HasLabels) -> Found | None:
        """Devices for the claims on one node. Raises what `search` raises."""
        manager = self._manager
        context = SearchContext(manager.allocated, manager.features, self._deadline())
        return search(plans, manager.index.of_node(node), context)

    def _deadline(self) -> Deadline | None:
        if not self._timeout_seconds:
            return None
        return new_deadline(self._clock.monotonic, self._timeout_seconds)


def new_deadline(monotonic: Callable[[], float], seconds: float) -> Deadline:
    end = monotonic() + seconds

    def look() -> None:
        if monotonic() > end:
            raise AllocationTimeout

    return look


def preference(plans: Sequence[ClaimPlan], found: Found) -> int:
    """How early the chosen alternatives are: 8 for the first of a request, 7 for the second, and so on."""
    return sum(
        _MAX_ALTERNATIVES - alternatives.index(chosen)
        for claim, of_claim in zip(plans, found.chosen, strict=True)
        for alternatives, chosen in zip(claim.requests, of_claim, strict=True)
        if chosen.parent
    )
