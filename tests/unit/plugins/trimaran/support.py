"""Load reports for tests of the Trimaran plugins."""

from __future__ import annotations

from typing import Any

from tests.unit.plugins.bench import Bench

from bayplan.framework.load_metrics import LoadReport, Metric
from bayplan.plugins.trimaran._node_loads import load_source


def report_loads(bench: Bench, plugin: Any, *, end: float = 0.0, **nodes: list[tuple[str, str, float]]) -> None:
    """The source of *plugin* reports: node → (type, operator, percent)."""
    metrics = {name: [Metric(*each) for each in metrics] for name, metrics in nodes.items()}
    bench.handle.loads.feed(load_source(plugin.args)).report = LoadReport(int(end), metrics)
