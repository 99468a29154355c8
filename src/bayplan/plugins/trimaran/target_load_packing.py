"""TargetLoadPacking: packs pods onto nodes up to a target utilization of cpu, then spreads them.

The best node is the one that the pod brings exactly to the target. Below the target, the fuller node is better;
above, the emptier one, and it scores lower than any node below. Load is measured; pods placed since are estimated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayplan.config.args import TargetLoadPackingArgs
from bayplan.framework import CycleState, Handle, IntArray, NodeInfo, NodeTable, Plugin
from bayplan.framework.load_metrics import AVERAGE, CPU_LOAD, LATEST, Metric
from bayplan.model import CPU, Pod, parse_milli
from bayplan.plugins.trimaran._node_loads import NodeLoads, rounded
from bayplan.plugins.trimaran._recent_pods import RecentPods

if TYPE_CHECKING:
    from bayplan.model import Container
    from bayplan.plugins.trimaran._node_loads import FloatArray


class TargetLoadPacking(Plugin[TargetLoadPackingArgs]):
    name = "TargetLoadPacking"

    def __init__(self, args: TargetLoadPackingArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._default_milli = parse_milli((args.default_requests or {}).get(CPU, 0))
        self._multiplier = float(args.default_requests_multiplier)
        self._target = float(args.target_utilization)
        self._loads = NodeLoads(args, handle, _utilization_and_capacity, 2)
        self._recent = RecentPods(handle, self._expected)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        columns, report = self._loads.columns(nodes), self._loads.report
        if columns is None or report is None:
            return np.zeros(len(nodes), dtype=np.int64)
        percent, capacity_milli = columns
        measured = (percent / 100) * capacity_milli
        used = measured + float(self._expected(pod)) + self._recent.missing(nodes, report.window_end)
        predicted = np.divide(100 * used, capacity_milli, out=np.zeros(len(nodes)), where=capacity_milli != 0)
        return np.where(np.isnan(percent), 0, rounded(np.nan_to_num(self._score_of(predicted))))

    def _score_of(self, percent: FloatArray) -> FloatArray:
        """The score, 0 … 100, of a predicted utilization."""
        target = self._target
        if target >= 100:
            above = np.zeros_like(percent)
        else:
            above = target * (100 - percent) / (100 - target)
        below = (100 - target) * percent / target + target
        return np.where(percent > 100, 0.0, np.where(percent > target, above, below))

    def _expected(self, pod: Pod) -> int:
        """The expected cpu usage of *pod*, in milli-cpu."""
        expected = sum(self._expected_of(container) for container in pod.spec.containers)
        return expected + parse_milli(pod.spec.overhead.get(CPU, 0))

    def _expected_of(self, container: Container) -> int:
        resources = container.resources
        if CPU in resources.limits:
            return parse_milli(resources.limits[CPU])
        if CPU in resources.requests:
            return math.floor(parse_milli(resources.requests[CPU]) * self._multiplier + 0.5)
        return self._default_milli


def _utilization_and_capacity(node: NodeInfo, metrics: Sequence[Metric]) -> tuple[float, float]:
    """Utilization in percent (NaN: not measured), capacity in milli-cpu."""
    percent = math.nan
    for metric in metrics:
        if metric.type == CPU_LOAD and metric.operator in (AVERAGE, LATEST):
            percent = metric.value
    return percent, float(parse_milli(node.node.status.capacity.get(CPU, 0)))
