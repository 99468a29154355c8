"""The verdicts of a profile's Filter plugins put together: the first to reject a node decides.

Most pods get the same verdicts as the pod alike before them. Then there is nothing to put together: what they came
to is remembered with the verdicts, and holds as long as these are the same objects.
"""

from __future__ import annotations

from bayplan.framework.calls import Bound
from bayplan.framework.nodes import NodeTable
from bayplan.framework.outcomes import Combined
from bayplan.framework.status import Status
from bayplan.framework.verdict import BoolArray, Verdict, has_any


class Remembered:
    """Verdicts that reject something, and what they came to."""

    __slots__ = ("combined", "verdicts")

    def __init__(self, nodes: NodeTable) -> None:
        self.verdicts: list[tuple[Bound, Verdict]] = []
        self.combined = Combined(nodes)

    def add(self, bound: Bound, verdict: Verdict) -> Status | None:
        self.verdicts.append((bound, verdict))
        return self.combined.add(bound.name, verdict)

    def up_to(self, n_verdicts: int) -> Remembered:
        """What the first *n_verdicts* came to."""
        part = Remembered(self.combined.nodes)
        for bound, verdict in self.verdicts[:n_verdicts]:
            part.add(bound, verdict)
        return part


class Combining:
    """Takes the verdicts about one table, in the order of the plugins."""

    __slots__ = ("_n_same", "result")

    def __init__(self, nodes: NodeTable, known: Remembered | None) -> None:
        #: How many verdicts were those of the remembered result; None if there is none, or one was not.
        self._n_same: int | None = None
        if known is not None and known.combined.nodes is nodes:
            self._n_same = 0
        else:
            known = Remembered(nodes)
        self.result: Remembered = known

    def add(self, bound: Bound, verdict: Verdict) -> Status | None:
        """A verdict that rejects something; gives the ERROR that ends the attempt, if it has one."""
        if self._n_same is not None:
            if self._is_next(self._n_same, bound, verdict):
                self._n_same += 1
                return None
            self._part()
        return self.result.add(bound, verdict)

    def _is_next(self, i: int, bound: Bound, verdict: Verdict) -> bool:
        verdicts = self.result.verdicts
        return i < len(verdicts) and verdicts[i][0] is bound and verdicts[i][1] is verdict

    def _part(self) -> None:
        """From here on it goes on by itself."""
        if self._n_same is not None:
            self.result = self.result.up_to(self._n_same)
            self._n_same = None

    @property
    def feasible(self) -> BoolArray:
        """The nodes that nobody has rejected so far."""
        if not self._is_complete:
            self._part()
        return self.result.combined.feasible

    @property
    def _is_complete(self) -> bool:
        return self._n_same is None or self._n_same == len(self.result.verdicts)

    @property
    def leaves_none(self) -> bool:
        """Whether every node is rejected, so that there is nothing left to ask about."""
        return self._is_complete and bool(self.result.verdicts) and not has_any(self.result.combined.feasible)

    def finish(self) -> Remembered:
        if not self._is_complete:
            self._part()
        return self.result
