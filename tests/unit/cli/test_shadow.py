"""`bayplan shadow`: files that are read again, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.unit.shadow.test_shadow_record import lines, record

from bayplan.cli import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["shadow", *arguments], prog_name="bayplan")


def test_a_file_is_summarized(tmp_path: Path) -> None:
    file = tmp_path / "pods.jsonl"
    file.write_bytes(b"".join(lines(record("same"), record("tie"), record("sample", n_better=2), record("real"))))

    result = run("--read", str(file))

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "a.yaml: 4 pods placed, 50.0% agreement",
        "          n",
        "  same    1  the only best node",
        "  tie     1  one of several equally good nodes, where chance decides",
        "  sample  1  better nodes were outside the sample of nodes that the scheduler looks at",
        "  real    1  explained by none of these",
        "  better nodes outside the sample: 2.0 on average, 2 at most",
        "",
        "Unexplained:",
        "  [a.yaml] default/p: real: on n, Bayplan: nowhere",
    ]


def test_programs_get_the_same(tmp_path: Path) -> None:
    file = tmp_path / "pods.jsonl"
    file.write_bytes(b"".join(lines(record("same"))))

    summary = json.loads(run("--read", str(file), "-o", "json").stdout)

    assert (summary["kind"], summary["configs"][0]["agreement"]) == ("ShadowSummary", 1.0)


def test_a_file_without_records(tmp_path: Path) -> None:
    file = tmp_path / "empty.jsonl"
    file.touch()

    assert run("--read", str(file)).stdout == "No pods were placed.\n"


def test_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pods.yaml"
    file.write_text("kind: Pod\n")

    result = run("--read", str(file))

    assert result.exit_code == 1
    assert f"Error: {file}:1: JSON is malformed" in result.stderr


def test_no_cluster_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayplan.observe.klog.set_up", lambda verbosity: None)

    result = run("--kubeconfig", str(tmp_path / "missing"))

    assert result.exit_code == 1


def test_the_same_configuration_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayplan.observe.klog.set_up", lambda verbosity: None)
    file = tmp_path / "a.yaml"
    file.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")

    result = run("--config", str(file), "--config", str(file))

    assert "the same --config is given twice" in result.stderr
