"""Results: what a simulation found, as NumPy columns, as figures, and as files."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Columns: TypeAlias = Mapping[str, NDArray[Any]]
PERCENTILES: Final = (50, 90, 95, 99)
VERSION: Final = 1


class Results:
    """`pods` has a row for every pod that came, `samples` one for every time at which the trace had something."""

    def __init__(self, pods: Columns, samples: Columns) -> None:
        #: name, arrival_seconds, bound_seconds, end_seconds (NaN where it did not happen), node, attempts, …
        self.pods = pods
        #: time_seconds, pending_pods, preemptions, {capacity,arrived,allocated}_{cpu_milli,memory_bytes,gpu_milli}
        self.samples = samples

    @property
    def scheduled(self) -> NDArray[np.bool_]:
        """Which pods got a node."""
        return ~np.isnan(self.pods["bound_seconds"])

    @property
    def waiting_seconds(self) -> NDArray[np.float64]:
        """From arrival to bind, of the pods that got a node."""
        waiting = self.pods["bound_seconds"] - self.pods["arrival_seconds"]
        chosen: NDArray[np.float64] = waiting[self.scheduled]
        return chosen

    def allocation_rate(self, resource: str = "gpu_milli") -> NDArray[np.float64]:
        """What is allocated of a resource in percent of what the nodes have, at each sample."""
        capacity = self.samples[f"capacity_{resource}"]
        allocated = 100.0 * self.samples[f"allocated_{resource}"]
        return np.divide(allocated, capacity, out=np.zeros_like(allocated), where=capacity > 0)

    def summary(self) -> dict[str, Any]:
        """The usual figures by their usual names. Rates are in percent; `_at_end` is when the trace is over."""
        n_pods, n_scheduled = len(self.scheduled), int(self.scheduled.sum())
        has_left = ~np.isnan(self.pods["end_seconds"])
        times = self.samples["time_seconds"]
        return {
            "version": VERSION,
            "pods": n_pods,
            "scheduled_pods": n_scheduled,
            "pending_pods": int((~self.scheduled & ~has_left).sum()),
            "pods_that_left_without_a_node": int((~self.scheduled & has_left).sum()),
            "preemptions": int(self.pods["preempted"].sum()),
            "attempts": int(self.pods["attempts"].sum()),
            "scheduling_outcome_rate": _rounded(100.0 * n_scheduled / n_pods if n_pods else 0.0),
            "job_waiting_time_seconds": _distribution(self.waiting_seconds),
            "cpu_allocation_rate": self._rates("cpu_milli"),
            "memory_allocation_rate": self._rates("memory_bytes"),
            "gpu_allocation_rate": self._rates("gpu_milli"),
            "simulated_seconds": _rounded(float(times[-1]) if len(times) else 0.0),
        }

    def _rates(self, resource: str) -> dict[str, float]:
        rates = self.allocation_rate(resource)
        if not len(rates):
            return {"at_end": 0.0, "highest": 0.0, "mean": 0.0}
        # A sample holds from the one before it: the trace has nothing in between.
        spans = np.diff(self.samples["time_seconds"], prepend=0.0)
        mean = float(np.average(rates, weights=spans)) if spans.sum() > 0 else float(rates.mean())
        return {"at_end": _rounded(rates[-1]), "highest": _rounded(rates.max()), "mean": _rounded(mean)}

    def summary_json(self) -> str:
        return json.dumps(self.summary(), indent=2) + "\n"

    def files(self) -> dict[str, str]:
        """File name → text."""
        return {
            "summary.json": self.summary_json(),
            "pods.csv": _csv(self.pods),
            "samples.csv": _csv(self.samples),
        }

    def write(self, folder: str | Path) -> None:
        """Write summary.json, pods.csv and samples.csv. All of them, or, after an OSError, none."""
        write_whole(Path(folder), self.files())


def write_whole(folder: Path, files: Mapping[str, str]) -> None:
    """Write files under other names first, so that nobody ever sees half of one."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = {name: folder / f".{name}.{os.getpid()}.tmp" for name in files}
    try:
        for name, text in files.items():
            temporary[name].write_text(text, encoding="utf-8")
        for name in files:
            temporary[name].replace(folder / name)
    finally:
        for path in temporary.values():
            path.unlink(missing_ok=True)


def _rounded(value: float) -> float:
    return round(float(value), 6)


def _distribution(values: NDArray[np.float64]) -> dict[str, float]:
    if not len(values):
        return {}
    marks = np.percentile(values, PERCENTILES)
    figures = {f"p{mark}": _rounded(value) for mark, value in zip(PERCENTILES, marks, strict=True)}
    return {"mean": _rounded(values.mean()), **figures, "max": _rounded(values.max())}


def _csv(columns: Columns) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(_cells(column) for column in columns.values()), strict=True))
    return text.getvalue()


def _cells(column: NDArray[Any]) -> list[Any]:
    if column.dtype.kind != "f":
        return [int(value) if isinstance(value, bool) else value for value in column.tolist()]
    return [
        "" if value != value else int(value) if value.is_integer() else round(value, 6)
        for value in column.tolist()
    ]
