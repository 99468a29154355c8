"""`bayplan capacity`, `drain-plan` and `size`: their forms, and their answers to bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from bayplan.cli import main

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "lab"
CLUSTER = ("--snapshot", str(GUIDE / "cluster.yaml"))
JOB = ("-f", str(GUIDE / "job.yaml"))


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, [*arguments, *CLUSTER], prog_name="bayplan")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("capacity", *JOB), "CapacityReport"),
        (("drain-plan", "small-1"), "DrainPlan"),
        (("size", *JOB), "SizeReport"),
    ],
    ids=["capacity", "drain-plan", "size"],
)
def test_json_and_yaml_say_the_same(words: tuple[str, ...], kind: str) -> None:
    as_json = json.loads(run(*words, "-o", "json").stdout)

    assert as_json == yaml.safe_load(run(*words, "-o", "yaml").stdout)
    assert as_json["kind"] == kind


def test_a_pod_that_cannot_go_fails_the_command() -> None:
    assert run("drain-plan", "small-1").exit_code == 1
    assert run("drain-plan", "small-2").exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("drain-plan", "gone"), "no node gone; there are 3 nodes"),
        (("size", *JOB, "--pool", "huge"), "no pool and no file 'huge'; the pools are small, large"),
        (("capacity", "-f", str(GUIDE / "cluster.yaml")), "one workload with a pod is expected, and there are 3"),
    ],
    ids=["no such node", "no such pool", "several workloads"],
)
def test_bad_questions_end_with_one_line(words: tuple[str, ...], message: str) -> None:
    result = run(*words)

    assert result.exit_code == 1
    assert message in result.stderr


def test_a_pool_from_a_file(tmp_path: Path) -> None:
    """A node that the cluster does not have yet."""
    node = tmp_path / "giant.yaml"
    node.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: giant}\n"
        "status: {allocatable: {cpu: '64', memory: 64Gi, pods: '50'}}\n"
    )
    answer = json.loads(run("size", *JOB, "--pool", str(node), "-o", "json").stdout)

    assert [(each["pool"], each["newNodes"]) for each in answer["pools"]] == [("giant", 1)]
