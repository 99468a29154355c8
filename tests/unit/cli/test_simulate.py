"""The command `simulate`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.lab.traces import NODES_CSV, PODS_CSV

from bayplan.cli import main


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "nodes.csv").write_text(NODES_CSV)
    (tmp_path / "pods.csv").write_text(PODS_CSV)
    return [str(tmp_path / "nodes.csv"), str(tmp_path / "pods.csv")]


def test_it_prints_the_figures_and_writes_files(files: list[str], tmp_path: Path) -> None:
    command = ["simulate", *files, "--ends", "never", "--ties", "name", "--out", str(tmp_path / "out")]
    done, again = (CliRunner().invoke(main, command) for _ in range(2))

    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("3 pods on 3 nodes in 5 s, seed 0, ties name\n")
    assert "gpu allocation rate       at end 41.67 %" in done.stdout
    assert done.stdout == again.stdout
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "pods.csv",
        "samples.csv",
        "summary.json",
    ]


def test_another_process_writes_the_same_bytes(files: list[str], tmp_path: Path) -> None:
    """Whatever the order of its sets: nothing depends on hashes."""
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "bayplan", "simulate", *files, "--rate", "0.5", "--seed", "3"]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([*command, "--out", str(tmp_path / seed)], env=environment, check=True, capture_output=True)  # noqa: S603

    first, second = ({file.name: file.read_bytes() for file in (tmp_path / seed).iterdir()} for seed in ("1", "2"))
    assert len(first) == 3
    assert first == second


def test_json(files: list[str]) -> None:
    done = CliRunner().invoke(main, ["simulate", *files, "--json"])

    assert json.loads(done.stdout)["scheduled_pods"] == 3


def test_a_bad_trace_writes_nothing(files: list[str], tmp_path: Path) -> None:
    Path(files[1]).write_text(PODS_CSV[:-20])

    done = CliRunner().invoke(main, ["simulate", *files, "--out", str(tmp_path / "out")])

    assert done.exit_code == 1
    assert done.stderr == "Error: pods.csv:4: too few columns; is the trace cut?\n"
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written(files: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    done = CliRunner().invoke(main, ["simulate", *files, "--out", str(tmp_path / "file" / "out")])

    assert done.exit_code == 1
    assert "cannot be written" in done.stderr
