"""`bayplan capture`: what is written and told, and that nothing is written by halves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from bayplan.cli import main

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "why-is-my-pod-pending"
CLUSTER = ["--snapshot", str(GUIDE / "cluster.yaml")]
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"token": "aHVudGVyMg=="}}


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["capture", *arguments], prog_name="bayplan")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def explained(snapshot: Path, pod: str) -> Any:
    result = CliRunner().invoke(main, ["explain", pod, "--snapshot", str(snapshot), "-o", "json"])
    return json.loads(result.stdout)


def test_a_snapshot_answers_like_the_cluster(tmp_path: Path) -> None:
    """Every question about a pod that waits has the same answer."""
    result = run("--out", str(tmp_path / "snapshot.yaml"), *CLUSTER)

    assert result.stdout == ""
    assert result.stderr.startswith("Captured: 2 Node, 2 PersistentVolume, ")
    for pod in ("cpu", "selector", "spread", "second", "near"):
        before, after = explained(GUIDE / "cluster.yaml", pod), explained(tmp_path / "snapshot.yaml", pod)
        assert before["outcome"] == after["outcome"]
        assert before["nodes"] == after["nodes"]
        assert [each["summary"] for each in before["suggestions"]] == [
            each["summary"] for each in after["suggestions"]
        ]


def test_both_forms_say_the_same() -> None:
    assert json.loads(run("-o", "json", *CLUSTER).stdout) == yaml.safe_load(run(*CLUSTER).stdout)


def test_secrets_are_left_out_and_listed(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(yaml.safe_dump(SECRET))

    result = run("--snapshot", str(tmp_path / "secret.yaml"), *CLUSTER)

    assert "aHVudGVyMg==" not in result.stdout
    assert "Left out: 1 Secret: never captured.\n" in result.stderr


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("snapshot.bayplan.dev/v7", "a snapshot of the version 'snapshot.bayplan.dev/v7'; this Bayplan reads "),
        ("snapshot.bayplan.dev/v1", "the items of the snapshot are not a list; was the file cut off?"),
    ],
    ids=["another version", "cut off"],
)
def test_a_snapshot_that_cannot_be_read(tmp_path: Path, version: str, message: str) -> None:
    file = tmp_path / "snapshot.yaml"
    file.write_text(f"apiVersion: {version}\nkind: ClusterSnapshot\n")

    result = run("--snapshot", str(file))

    assert result.exit_code == 1
    assert f"{file}: {message}" in result.stderr


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is replaced at the end, or not at all."""
    target = tmp_path / "snapshot.yaml"
    target.write_text("old")

    def refuse(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bayplan.cli.private_files.os.replace", refuse)
    result = run("--out", str(target), *CLUSTER)

    assert result.exit_code == 1
    assert f"{target}: cannot be written: No space left on device" in result.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["snapshot.yaml"]
    assert target.read_text() == "old"
