"""Figures and files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.unit.lab.traces import small_trace

from bayplan.lab import SimulationOptions, simulate
from bayplan.lab.results import write_whole


def test_the_usual_figures() -> None:
    figures = simulate(small_trace(2), options=SimulationOptions(ties="name")).summary()

    assert (figures["pods"], figures["scheduled_pods"], figures["attempts"]) == (2, 2, 2)
    assert figures["scheduling_outcome_rate"] == 100.0
    assert figures["job_waiting_time_seconds"]["max"] == pytest.approx(0.001, abs=1e-6)
    assert figures["cpu_allocation_rate"]["at_end"] == 50.0
    assert figures["gpu_allocation_rate"]["highest"] == 0.0


def test_files_hold_what_the_columns_hold(tmp_path: Path) -> None:
    results = simulate(small_trace(5))
    results.write(tmp_path / "out")

    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "pods.csv",
        "samples.csv",
        "summary.json",
    ]
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == results.summary()
    with (tmp_path / "out" / "pods.csv").open() as text:
        rows = list(csv.DictReader(text))
    assert [row["node"] for row in rows] == results.pods["node"].tolist()
    assert [row["bound_seconds"] == "" for row in rows] == [False] * 4 + [True]


def test_nothing_is_left_of_files_that_cannot_be_written(tmp_path: Path) -> None:
    """As on a full disk: the second file fails, so the first does not appear either."""
    (tmp_path / "a.csv").write_text("before")

    with pytest.raises(OSError, match="No such file"):
        write_whole(tmp_path, {"a.csv": "after", "missing/b.csv": "after"})

    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "before"
