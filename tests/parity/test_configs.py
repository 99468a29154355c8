"""Configurations: what kube-scheduler of each release made of each of them, and what we do."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.config import Catalogue
from bayplan.conformance import Context, read_lines, run
from bayplan.scheduler import default_registry

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    """The plugins that ship with Bayplan, which are those of the recorded schedulers."""
    return default_registry()


@pytest.mark.parametrize("version", ["v1.36.4", "v1.37.1"])
def test_all_recorded_configurations_are_identical(version: str, catalogue: Catalogue) -> None:
    """The same are accepted, with the same result; the same are refused, with the same fields named."""
    report = run([GOLDEN / f"configs-{version}.jsonl.gz"], Context(catalogue))

    assert report.identical == report.total == 556, report.to_text()
    assert list(report.counts_by_release()) == [version.removeprefix("v").rpartition(".")[0]]


@pytest.mark.parametrize(("version", "accepted", "refused"), [("v1.36.4", 297, 259), ("v1.37.1", 301, 255)])
def test_the_recording_is_whole(version: str, accepted: int, refused: int) -> None:
    """1.37 accepts four more: `shape` of VolumeBinding."""
    lines = list(read_lines(GOLDEN / f"configs-{version}.jsonl.gz"))

    assert sum("effective" in line for line in lines) == accepted
    assert sum("errors" in line for line in lines) == refused
