"""`bayplan pending`: the command around the groups."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from bayplan.cli import main

MANY = Path(__file__).parents[3] / "docs" / "guides" / "why-is-my-pod-pending" / "many.yaml"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["pending", "--snapshot", str(MANY), *arguments], prog_name="bayplan")
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_change_that_helps_most_comes_first() -> None:
    lines = run().splitlines()

    assert lines[0] == "21 pods wait to be scheduled"
    assert lines[2] == "20 pods: 3 more nodes like large-1 would place 20 (of 21 that wait)"


def test_programs_get_the_same() -> None:
    report = json.loads(run("-o", "json"))

    assert (report["kind"], report["nPending"], report["groups"][0]["nPlaced"]) == ("PendingReport", 21, 20)
    assert len(report["groups"][0]["suggestion"]["changes"]) == 3


def test_a_namespace_without_pods() -> None:
    assert run("-n", "elsewhere") == "No pod waits to be scheduled.\n"
