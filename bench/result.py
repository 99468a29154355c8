"""One line of the table that the benchmarks print."""

from __future__ import annotations

from typing import NamedTuple


class Result(NamedTuple):
    """One line of the table."""

    workload: str
    mode: str
    nodes: int
    decisions: int
    us_per_decision: float
    decisions_per_second: float
    peak_mb: float

    @staticmethod
    def heading() -> str:
        return (
            f"{'workload':<16}{'pods':<11}{'nodes':>7}{'decisions/s':>13}{'µs each':>10}{'peak MB':>9}"
            "  cost against the row above"
        )

    def row(self, smaller: Result | None) -> str:
        growth = ""
        if smaller is not None:
            cost = self.us_per_decision / smaller.us_per_decision
            growth = f"  ×{cost:.1f} for ×{self.nodes / smaller.nodes:.0f} nodes"
        return (
            f"{self.workload:<16}{self.mode:<11}{self.nodes:>7}{self.decisions_per_second:>13,.0f}"
            f"{self.us_per_decision:>10.0f}{self.peak_mb:>9.0f}{growth}"
        )
