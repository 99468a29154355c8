"""The report's plots: ratios of all workloads on the largest cluster, with the aims."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.e2e import aims
from bench.e2e.charts import Bar, bar_chart
from bench.e2e.groups import Groups, measured
from bench.e2e.plan import Mode
from bench.e2e.statistics import Spread, ratio

_ROWS = {name: row for row in aims.ROWS for name in row.workloads}


def write(groups: Groups, into: Path) -> list[str]:
    """Write the plots of the largest cluster; returns the names of the files."""
    n_nodes = max((key[2] for key in groups if key[1] is Mode.BURST), default=0)
    bars = list(_bars(groups, n_nodes))
    if not bars:
        return []
    where = f"{n_nodes:,} nodes"
    plots = {
        "e2e-speed.svg": bar_chart(
            f"Pods/s, Bayplan ÷ kube-scheduler, {where}", [speed for speed, _ in bars], base=1
        ),
        "e2e-cpu.svg": bar_chart(
            f"Scheduler CPU per pod, kube-scheduler ÷ Bayplan, {where}", [cost for _, cost in bars], base=1
        ),
    }
    for name, chart in plots.items():
        (into / name).write_text(chart)
    return list(plots)


def _bars(groups: Groups, n_nodes: int) -> Iterator[tuple[Bar, Bar]]:
    """Speed and CPU of each workload; in both, longer bars are better."""
    for key in measured(groups):
        name, mode, size = key
        faster, cost = ratio(groups[key], aims.speed), ratio(groups[key], aims.scheduler_cpu)
        if mode is Mode.BURST and size == n_nodes and faster is not None and cost is not None and cost.low:
            row = _ROWS.get(name)
            cheaper = Spread(1 / cost.median, 1 / cost.high, 1 / cost.low, cost.n)
            yield (
                Bar(name, *faster[:3], row.least_speed if row else None),
                Bar(name, *cheaper[:3], 1 / row.most_cpu if row else None),
            )
