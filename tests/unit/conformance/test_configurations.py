"""The verifier of recorded configurations: it must notice every difference, and nothing else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.config.plugin_facts import HEAD, catalogue, loaded

from bayplan.config import Problem
from bayplan.conformance import Context, RecordingError, run
from bayplan.conformance.configurations import named_fields, verify
from bayplan.conformance.report import ConformanceReport, Difference, StepResult, compare

CONTEXT = Context(catalogue())


def recorded(text: str = "", **changes: Any) -> dict[str, Any]:
    """A line as kube-scheduler would have written it for `text`, if it agreed with us."""
    result = loaded(text)
    line = {"kind": "config", "name": "n", "config": HEAD + text}
    return {**line, "effective": result.effective(), "expanded": result.expanded(), **changes}


def differences(line: dict[str, Any]) -> list[str]:
    ((_, found),) = verify(line, CONTEXT)
    return [difference.where for difference in found]


def test_equal_is_identical() -> None:
    """Nothing differs from itself."""
    assert differences(recorded("parallelism: 4\n")) == []


def test_a_difference_in_the_effective_configuration() -> None:
    """Every field counts."""
    line = recorded()
    line["effective"]["parallelism"] = 17

    assert differences(line) == ["effective.parallelism"]


def test_the_content_type_does_not_count() -> None:
    """Ours is JSON."""
    line = recorded()
    line["effective"]["clientConnection"]["contentType"] = "application/vnd.kubernetes.protobuf"

    assert differences(line) == []


def test_order_counts_and_alpha_points_do_not() -> None:
    """The order of plugins is part of the expansion; the alpha points are not compared."""
    line = recorded()
    points = line["expanded"]["default-scheduler"]
    points["placementScore"] = []
    assert differences(line) == []

    points["preFilter"].reverse()
    assert differences(line)[0] == "expanded.default-scheduler.preFilter[0].name"


def test_outcomes_must_agree() -> None:
    """Accepted by one and refused by the other is a difference, either way round."""
    assert differences(recorded(config=HEAD + "parallelism: 0\n")) == ["outcome"]
    assert differences({"kind": "config", "name": "n", "config": HEAD, "errors": ["x"]}) == ["outcome"]


@pytest.mark.parametrize(
    ("error", "path", "named"),
    [
        pytest.param("parallelism: Invalid value: 0: x", "parallelism", True, id="the field itself"),
        pytest.param("parallelism: Invalid value: 0: x", "podMaxBackoffSeconds", False, id="another field"),
        pytest.param('unknown field "profiles[0].x"', "profiles[0].x", True, id="an unknown field"),
        pytest.param('unknown field "profiles[0].x"', "profiles[1].x", False, id="another position"),
        pytest.param('unknown field "x"', "profiles[0].x", False, id="a top-level field is not one further in"),
        pytest.param("extenders: Invalid value: 2: x", "extenders[1].bindVerb", True, id="further in is fine"),
        pytest.param("extenders[0].weight: Invalid value: 2: x", "extenders", False, id="further out is not"),
        pytest.param(
            "json: cannot unmarshal string into Go struct field"
            " Plugin.profiles.plugins.score.enabled.weight of type int32",
            "profiles[0].plugins.score.enabled[0].weight",
            True,
            id="Go's JSON decoder leaves out positions",
        ),
        pytest.param(
            "json: cannot unmarshal number into Go struct field "
            "KubeSchedulerConfiguration.DebuggingConfiguration.enableProfiling of type bool",
            "enableProfiling",
            True,
            id="and names embedded structs",
        ),
        pytest.param("Object 'Kind' is missing in ''", "kind", True, id="a missing kind"),
        pytest.param('line 6: key "parallelism" already set in map', "parallelism", True, id="a repeated key"),
        pytest.param('line 6: key "name" already set in map', "profiles[0].names", False, id="another key"),
        pytest.param(
            'initializing plugin "NodeResourcesFit": scoringStrategy.type: Unsupported value: "x"',
            "profiles[2].pluginConfig[1].args.scoringStrategy.type",
            True,
            id="arguments, relative to themselves",
        ),
        pytest.param(
            'initializing plugin "NodeResourcesFit": scoringStrategy.type: Unsupported value: "x"',
            "profiles[2].plugins",
            False,
            id="arguments that we do not name",
        ),
        pytest.param(
            "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: x",
            "profiles[0].plugins.queueSort.enabled",
            True,
            id="Go's capital",
        ),
        pytest.param(
            "a.values[0][zone]: Invalid value: 2: x",
            "a.values[0]",
            False,
            id="a key in brackets is part of the path",
        ),
    ],
)
def test_fields_that_errors_name(error: str, path: str, named: bool) -> None:
    """The paths come out of the recorded text by its form, whatever the case is about."""
    fields = named_fields(error)
    problem = Problem("s", 1, 1, path, "wrong")

    assert fields
    assert all(field.is_named_by(problem) for field in fields) is named


def test_upstream_spelling_counts_as_naming() -> None:
    """A problem may name the field by both its real path and kube-scheduler's."""
    (field,) = named_fields("a.values[0][zone]: Invalid value: 2: x")

    assert field.is_named_by(Problem("s", 1, 1, "a.values[0]", "wrong", upstream_path="a.values[0][zone]"))


def test_arguments_and_fields_in_one_error() -> None:
    """Each part of a joined error is relative to what precedes it."""
    fields = named_fields(
        'strict decoding error: unknown field "foo", decoding .profiles[0].pluginConfig[1]:'
        " strict decoding error: "
        'decoding args for plugin X: strict decoding error: unknown field "bar"'
    )

    assert [str(field.path) for field in fields] == [
        "foo",
        "profiles[0].pluginConfig[1]",
        "profiles[0].pluginConfig[1].args.bar",
    ]


def test_errors_that_name_no_field() -> None:
    """Some of kube-scheduler's errors do not say where; then refusing is all."""
    assert named_fields('time: missing unit in duration "15"') == []


def test_running_files(tmp_path: Path) -> None:
    """Plain and compressed recordings; `only` narrows by name."""
    plain, packed = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    good = recorded()
    plain.write_text(json.dumps(good) + "\n\n")
    bad = {**good, "name": "bad", "errors": ["parallelism: Invalid value: 0: x"]}
    with gzip.open(packed, "wt") as file:
        file.write(json.dumps(bad) + "\n")

    report = run([plain, packed], CONTEXT)
    assert (report.identical, report.total, report.passed) == (1, 2, False)
    assert report.to_text().endswith("1 of 2 identical\n")
    assert "config bad\n    outcome\n" in report.to_text()
    assert json.loads(report.to_json())["differing"][0]["name"] == "bad"
    assert run([plain, packed], CONTEXT, only="n").passed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not a line of JSON"),
        ("[]", "not a recorded line"),
        ('{"kind": "tea"}', 'the kind "tea" is unknown'),
    ],
)
def test_files_that_are_no_recordings(tmp_path: Path, text: str, words: str) -> None:
    """The error names the file and the line."""
    file = tmp_path / "x.jsonl"
    file.write_text(text + "\n")

    with pytest.raises(RecordingError, match=r"x\.jsonl:1: ") as caught:
        run([file], CONTEXT)
    assert words in str(caught.value)


def test_a_missing_file() -> None:
    """What cannot be read is said so."""
    with pytest.raises(RecordingError, match="cannot be read"):
        run(["/nowhere.jsonl"], CONTEXT)


def test_no_steps_is_not_passed() -> None:
    """An empty run proves nothing."""
    assert not ConformanceReport().passed
    assert ConformanceReport().to_text() == "\n0 of 0 identical\n"


def test_the_first_differences_in_full() -> None:
    """Only so many are shown; the count tells of the rest."""
    steps = [StepResult("config", f"c{i}", "", (Difference("a", 1, 2),)) for i in range(12)]

    text = ConformanceReport(steps).to_text(show=2)
    assert "config c1\n    a\n      recorded: 1\n      ours:     2" in text
    assert "c2" not in text
    assert "… and 10 more that differ" in text


def test_counts_by_release() -> None:
    """Each kind in each release; the sums of the releases where there are several."""
    older = [StepResult("config", "a", "", (), "1.36"), StepResult("decision", "b", "", (), "1.36")]
    newer = StepResult("config", "a", "", (Difference("a", 1, 2),), "1.37")

    assert ConformanceReport(older).to_text() == (
        "1.36 config: 1 of 1 identical\n1.36 decision: 1 of 1 identical\n\n2 of 2 identical\n"
    )
    both = ConformanceReport([*older, newer])
    assert both.to_text(show=0).startswith(
        "1.36 config: 1 of 1 identical\n1.36 decision: 1 of 1 identical\n1.37 config: 0 of 1 identical\n\n"
        "Kubernetes 1.36: 2 of 2 identical\nKubernetes 1.37: 0 of 1 identical\n"
    )
    assert json.loads(both.to_json())["releases"]["1.37"] == {"identical": 0, "total": 1}


def test_comparing_values() -> None:
    """Types count: 1 is not true; a missing key is a difference."""
    assert [d.where for d in compare({"a": 1, "b": [1, 2]}, {"a": True, "b": [1], "c": 0})] == ["a", "b", "c"]
