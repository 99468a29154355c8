"""Configurations: what kube-scheduler v1.36.4 made of each of them, and what we do."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.config import Catalogue
from bayplan.conformance import Context, read_lines, run
from bayplan.scheduler import default_registry

RECORDING = Path(__file__).parent / "golden" / "configs-v1.36.4.jsonl.gz"


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    """The plugins that ship with Bayplan, which are those of the recorded scheduler."""
    return default_registry()


def test_all_recorded_configurations_are_identical(catalogue: Catalogue) -> None:
    """The same are accepted, with the same result; the same are refused, with the same fields named."""
    report = run([RECORDING], Context(catalogue))

    assert report.identical == report.total == 556, report.to_text()


def test_the_recording_is_whole() -> None:
    """297 configurations were accepted, 259 refused."""
    lines = list(read_lines(RECORDING))

    assert sum("effective" in line for line in lines) == 297
    assert sum("errors" in line for line in lines) == 259
