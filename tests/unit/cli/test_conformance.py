"""`bayplan conformance`: the command around the verifiers."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from bayplan.cli import main

GOLDEN = Path(__file__).parents[2] / "parity" / "golden"
CONFIGS = str(GOLDEN / "configs-v1.36.4.jsonl.gz")


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["conformance", *arguments], prog_name="bayplan")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_the_last_line_is_the_tally() -> None:
    """Status 0 when all are identical."""
    result = run(CONFIGS)

    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "556 of 556 identical")


def test_a_difference_is_told_and_ends_in_status_one(tmp_path: Path) -> None:
    """A recording that says otherwise is shown with both sides."""
    file = tmp_path / "other.jsonl"
    given = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    file.write_text(
        json.dumps({"kind": "config", "name": "x", "config": given, "errors": ["nothing like it"]}) + "\n"
    )

    result = run(str(file))

    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "0 of 1 identical"


def test_json_is_for_machines() -> None:
    """The same tally, as data."""
    report = json.loads(run(CONFIGS, "--only", "minimal", "--json").stdout)

    assert (report["identical"], report["total"]) == (1, 1)


def test_lines_can_be_compared_with_another_release() -> None:
    """To see how far two releases are apart; another one is refused with what is supported."""
    result = run(CONFIGS, "--only", "minimal", "--emulated-version", "1.37")
    refused = run(CONFIGS, "--emulated-version", "1.20")

    assert (result.exit_code, result.stdout.splitlines()[0]) == (1, "1.37 config: 0 of 1 identical")
    assert "Kubernetes 1.20 is not supported; supported are 1.36 and 1.37" in refused.stderr


def test_only_names_a_line_that_must_exist() -> None:
    """A seed that is not there is a mistake, not "0 of 0 identical"."""
    result = run(CONFIGS, "--only", "nobody")

    assert result.exit_code == 1
    assert "no line has the seed or name 'nobody'" in result.stderr


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    """With file and line."""
    file = tmp_path / "notes.jsonl"
    file.write_text("hello\n")

    result = run(str(file))

    assert result.exit_code == 1
    assert f"{file}:1: not a line of JSON" in result.stderr
