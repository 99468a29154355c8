"""ClassScores: the result of a Score plugin where many nodes have the same score.

Topology spread and pod affinity score thousands of nodes by a handful of counts. So only the handful is normalized
and weighted, and only the total is computed per node; a record looks up a node's score when it is read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayplan.framework.verdict import BoolArray, IntArray, extremes


class ClassScores(NamedTuple):
    """The class of each node of a table, and the score of each class.

    `normalize_score` gets the scores of classes in place of those of nodes, so it must look at nothing but the
    scores, and not at how many nodes have one.
    """

    #: Whole numbers from 0, shape (n_nodes,); must not be changed later.
    classes: NDArray[Any]
    #: int64, shape (n_classes,)
    scores: IntArray
    #: bool, shape (n_classes,): the classes that nodes are in; None for all of them.
    present: BoolArray | None = None

    def at_nodes(self) -> IntArray:
        return self.scores.take(self.classes)

    def at_rows(self, rows: IntArray) -> ClassScores:
        """The same for some of the nodes."""
        classes = self.classes.take(rows)
        return ClassScores(classes, self.scores, np.bincount(classes, minlength=len(self.scores)) > 0)

    def are_about(self, n_nodes: int) -> bool:
        """Whether these are valid scores of *n_nodes* nodes."""
        classes, scores, present = self
        if not (_is_column(classes, "iu", n_nodes) and _is_column(scores, "i", None)):
            return False
        if n_nodes:
            first, last = extremes(classes)
            if first < 0 or last >= len(scores):
                return False
        return present is None or _is_column(present, "b", len(scores))


def _is_column(column: Any, kinds: str, length: int | None) -> bool:
    """Whether *column* is an array of one of numpy's *kinds*, of any length if that is None."""
    if not isinstance(column, np.ndarray) or column.dtype.kind not in kinds or column.ndim != 1:
        return False
    return length is None or len(column) == length


class ClassedScores:
    """One plugin's scores by class, at every stage; implements `PluginScores`."""

    __slots__ = ("_classes", "_normalized", "_raw", "weight")

    def __init__(self, classes: NDArray[Any], raw: IntArray, normalized: IntArray, weight: int) -> None:
        """*raw* and *normalized* have one score per class."""
        self._classes = classes
        self._raw = raw
        self._normalized = normalized
        self.weight = weight

    @property
    def raw(self) -> IntArray:
        return self._raw.take(self._classes)

    @property
    def normalized(self) -> IntArray:
        return self._normalized.take(self._classes)

    @property
    def weighted(self) -> IntArray:
        return (self._normalized * self.weight).take(self._classes)

    @property
    def n_bytes(self) -> int:
        return int(self._classes.nbytes)

    def compacted(self) -> ClassedScores:
        classes = self._classes.astype(np.min_scalar_type(len(self._raw)))
        return ClassedScores(classes, self._raw, self._normalized, self.weight)
