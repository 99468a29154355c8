"""Measured load as columns: what the latest report says about every node, worked out once per report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayplan.framework.loads import LoadReport, LoadSource

if TYPE_CHECKING:
    from bayplan.config.args import TrimaranArgs
    from bayplan.framework import Handle, NodeInfo, NodeTable
    from bayplan.framework.loads import Metric

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
    """A feed, read node by node with *read* (n numbers for each) and kept as n columns."""

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
        #: The report and the nodes that the columns are of.
        self._made_of: tuple[LoadReport, NodeTable, int] | None = None
        self._columns: FloatArray = np.empty((0, n_columns))

    @property
    def report(self) -> LoadReport | None:
        """None as long as the source has said nothing."""
        return self._feed.report

    def columns(self, nodes: NodeTable) -> FloatArray | None:
        """Shape (n_columns, n_nodes); None without a report."""
        report = self.report
        if report is None:
            return None
        every, position = self._snapshot.nodes, self._snapshot.node_changes.position
        made_of = self._made_of
        if made_of is None or made_of[0] is not report or made_of[1] is not every or made_of[2] != position:
            self._columns = self._worked_out(report, every)
            self._made_of = report, every, position
        return self._columns[:, nodes.rows]

    def _worked_out(self, report: LoadReport, nodes: NodeTable) -> FloatArray:
        columns = np.full((self._n_columns, len(nodes)), np.nan)
        for name, metrics in report.nodes.items():
            position = nodes.position(name)
            if position is not None:
                columns[:, position] = self._read(nodes[position], metrics)
        return columns


def rounded(values: FloatArray) -> NDArray[np.int64]:
    """To the nearest whole number, halves away from zero, as Go's math.Round."""
    whole = np.trunc(values)
    whole += np.where(np.abs(values - whole) >= 0.5, np.copysign(1.0, values), 0.0)
    return whole.astype(np.int64)
