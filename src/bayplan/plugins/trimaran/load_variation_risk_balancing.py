"""LoadVariationRiskBalancing: prefers nodes whose load, including the pod, is low and stable.

Risk is the mean of the average load and its standard deviation, both as shares of the node's capacity. The score
is that of cpu or memory, whichever has the higher risk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.config.args import LoadVariationRiskBalancingArgs
from bayplan.framework import MAX_SCORE, CycleState, Handle, IntArray, NodeInfo, NodeTable, Plugin
from bayplan.framework.load_metrics import AVERAGE, CPU_LOAD, LATEST, MEMORY_LOAD, STANDARD_DEVIATION, Metric
from bayplan.model import CPU, MEMORY, Pod
from bayplan.plugins.trimaran._node_loads import NodeLoads, rounded

if TYPE_CHECKING:
    from bayplan.plugins.trimaran._node_loads import FloatArray

_MIB: Final = 1.0 / 1024.0 / 1024.0


class LoadVariationRiskBalancing(Plugin[LoadVariationRiskBalancingArgs]):
    name = "LoadVariationRiskBalancing"

    def __init__(self, args: LoadVariationRiskBalancingArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._margin: float = args.safe_variance_margin
        sensitivity: float = args.safe_variance_sensitivity
        self._root = 1 / sensitivity if sensitivity else math.inf
        self._loads = NodeLoads(args, handle, _statistics, 4)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        columns = self._loads.columns(nodes)
        if columns is None:
            return np.zeros(len(nodes), dtype=np.int64)
        requests = pod.requests
        cpu = self._scores(columns[0], columns[1], nodes.allocatable(CPU), requests.get(CPU, 0), 1.0)
        memory = self._scores(columns[2], columns[3], nodes.allocatable(MEMORY), requests.get(MEMORY, 0), _MIB)
        # If one of the two is not measured (NaN), the other one counts; if neither is, the score is 0.
        return rounded(np.nan_to_num(np.fmin(cpu, memory)))

    def _scores(
        self, average: FloatArray, deviation: FloatArray, allocatable: IntArray, requested: int, unit: float
    ) -> FloatArray:
        """float64, shape (n_nodes,), NaN where there is no measurement; loads come in percent of *allocatable*."""
        capacity = allocatable * unit
        used = np.clip(average * capacity / 100, 0, capacity)
        varied = np.clip(deviation * capacity / 100, 0, capacity)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.clip((used + max(requested, 0) * unit) / capacity, 0, 1)
            spread = np.clip(varied / capacity, 0, 1)
        spread = np.clip(spread**self._root * self._margin, 0, 1)
        scores = (1.0 - (mean + spread) / 2) * MAX_SCORE
        return np.where((capacity <= 0) & ~np.isnan(average), 0.0, scores)


def _statistics(node: NodeInfo, metrics: Sequence[Metric]) -> tuple[float, float, float, float]:
    """Average and standard deviation of cpu, then of memory, in percent; NaN: not measured."""
    return *_of_type(metrics, CPU_LOAD), *_of_type(metrics, MEMORY_LOAD)


def _of_type(metrics: Sequence[Metric], type_: str) -> tuple[float, float]:
    """The average of a window takes precedence over the latest value; no operator means the latest value."""
    ours = [metric for metric in metrics if metric.type == type_]
    if not ours:
        return math.nan, math.nan
    average = deviation = 0.0
    has_average = False
    for _, operator, value in ours:
        if operator == AVERAGE:
            average, has_average = value, True
        elif operator == STANDARD_DEVIATION:
            deviation = value
        elif operator in ("", LATEST) and not has_average:
            average = value
    return average, deviation
