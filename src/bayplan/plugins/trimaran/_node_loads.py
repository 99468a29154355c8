"""Measured load as columns: the values of the latest report for every node, computed once per report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayplan.framework.load_metrics import LoadReport, LoadSource

if TYPE_CHECKING:
    from bayplan.config.args import TrimaranArgs
    from bayplan.framework import Handle, NodeInfo, NodeTable
    from bayplan.framework.load_metrics import Metric

#: float64; NaN where nothing is known.
FloatArray: TypeAlias = NDArray[np.float64]


def load_source(args: TrimaranArgs) -> LoadSource:
    """The source that the arguments name."""
    provider = args.metric_provider
    return LoadSource(
        provider.type,
        provider.address or "",
        provider.token or "",
        bool(provider.insecure_skip_verify),
        args.watcher_address or "",
    )


class NodeLoads:
    """The columns of a load feed; *read* returns *n_columns* numbers for one node."""

    def __init__(
        self,
        args: TrimaranArgs,
        handle: Handle,
        read: Callable[[NodeInfo, Sequence[Metric]], Sequence[float]],
        n_columns: int,
    ) -> None:
        self._feed = handle.loads.feed(load_source(args))
        self._snapshot = handle.snapshot
        self._read = read
        self._n_columns = n_columns
        #: The report and the nodes from which the columns were computed.
        self._source: tuple[LoadReport, NodeTable, int] | None = None
        self._columns: FloatArray = np.empty((0, n_columns))

    @property
    def report(self) -> LoadReport | None:
        """None until the source has reported."""
        return self._feed.report

    def columns(self, nodes: NodeTable) -> FloatArray | None:
        """Shape (n_columns, n_nodes); None without a report."""
        report = self.report
        if report is None:
            return None
        every, position = self._snapshot.nodes, self._snapshot.node_changes.position
        source = self._source
        if source is None or source[0] is not report or source[1] is not every or source[2] != position:
            self._columns = self._compute(report, every)
            self._source = report, every, position
        return self._columns[:, nodes.rows]

    def _compute(self, report: LoadReport, nodes: NodeTable) -> FloatArray:
        columns = np.full((self._n_columns, len(nodes)), np.nan)
        for name, metrics in report.nodes.items():
            position = nodes.position(name)
            if position is not None:
                columns[:, position] = self._read(nodes[position], metrics)
        return columns


def rounded(values: FloatArray) -> NDArray[np.int64]:
    """To the nearest integer, halves away from zero, as Go's math.Round."""
    whole = np.trunc(values)
    whole += np.where(np.abs(values - whole) >= 0.5, np.copysign(1.0, values), 0.0)
    return whole.astype(np.int64)
