"""Configurations: what kube-scheduler v1.36.4 made of each of them, and what we do."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.facts import TableCatalogue

from bayplan.config import Catalogue
from bayplan.conformance import Context, read_lines, run

RECORDING = Path(__file__).parent / "golden" / "configs-v1.36.4.jsonl.gz"


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    """The plugins that the recorded scheduler had."""
    return TableCatalogue()


def test_all_recorded_configurations_are_identical(catalogue: Catalogue) -> None:
    """Accepted ones with the same effective configuration and expansion, refused ones with the"
    " same fields named."""
    report = run([RECORDING], Context(catalogue))

    assert report.identical == report.total == 556, report.to_text()


def test_the_recording_is_whole() -> None:
    """297 configurations were accepted, 259 refused."""
    lines = list(read_lines(RECORDING))

    assert sum("effective" in line for line in lines) == 297
    assert sum("errors" in line for line in lines) == 259
