"""Exchanges: what a kube-apiserver of each release answered, request by request, and what ours does."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from bayplan.conformance import Context, read_lines, run
from bayplan.conformance.api_requests import verify
from bayplan.scheduler import default_registry

GOLDEN = Path(__file__).parent / "golden"
RECORDING = GOLDEN / "api-v1.36.4.jsonl.gz"


@pytest.fixture(scope="module")
def context() -> Context:
    return Context(default_registry())


@pytest.mark.parametrize("version", ["v1.36.4", "v1.37.1"])
def test_all_recorded_requests_are_identical(version: str, context: Context) -> None:
    """The same codes, objects, events, warnings, and the same words where they matter."""
    report = run([GOLDEN / f"api-{version}.jsonl.gz"], context)

    assert report.identical == report.total == 369, report.to_text()


@pytest.mark.parametrize("version", ["v1.36.4", "v1.37.1"])
def test_all_requests_about_devices_are_identical(version: str, context: Context) -> None:
    """Claims, templates, slices and classes, valid and invalid ones, and the claims of pods."""
    report = run([GOLDEN / f"api-claims-{version}.jsonl.gz"], context)

    assert report.identical == report.total == 340, report.to_text()


def test_all_requests_about_taint_rules_are_identical(context: Context) -> None:
    """DeviceTaintRules, valid and invalid ones, their status, tables and discovery."""
    report = run([GOLDEN / "api-rules-v1.37.1.jsonl.gz"], context)

    assert report.identical == report.total == 106, report.to_text()


@pytest.fixture(scope="module")
def exchanges() -> dict[str, dict[str, Any]]:
    return {line["name"]: line for line in read_lines(RECORDING)}


@pytest.mark.parametrize(
    ("name", "step", "change", "where"),
    [
        pytest.param("namespaces", 0, {"status": 200}, "status", id="the code"),
        pytest.param("namespaces", 2, {"answer": {"kind": "Pod"}}, "answer.kind", id="the object"),
        pytest.param("fieldValidation", 2, {"warnings": []}, "warnings", id="the warnings"),
        pytest.param("watch: objects enter and leave a selector", 5, {"events": []}, "events", id="the events"),
    ],
)
def test_every_difference_is_found(
    exchanges: dict[str, dict[str, Any]],
    context: Context,
    name: str,
    step: int,
    change: dict[str, Any],
    where: str,
) -> None:
    """A verifier that finds everything identical is worth nothing."""
    tampered = copy.deepcopy(exchanges[name])
    tampered["steps"][step].update(change)

    label, differences = list(verify(tampered, context.of_line(tampered)))[step]

    assert label.startswith(f"{step} ")
    assert where in [difference.where for difference in differences]


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        pytest.param("reason", "Odd", "answer.reason", id="the reason"),
        pytest.param("message", "Odd", "answer.message", id="the message"),
        pytest.param("details", {"name": "odd", "kind": "pods"}, "answer.details.name", id="whom it is about"),
    ],
)
def test_differing_failures_are_found(
    exchanges: dict[str, dict[str, Any]], context: Context, path: str, value: Any, where: str
) -> None:
    """A failure is compared by reason, subject and message."""
    tampered = copy.deepcopy(exchanges["pod: create, get, list, delete"])
    tampered["steps"][5]["answer"][path] = value

    _, differences = list(verify(tampered, context.of_line(tampered)))[5]

    assert where in [difference.where for difference in differences]


def test_words_of_findings_may_differ(exchanges: dict[str, dict[str, Any]], context: Context) -> None:
    """Of a 422 the fields count, not the words."""
    tampered = copy.deepcopy(exchanges["errors: values"])
    answer = tampered["steps"][3]["answer"]
    answer["message"] = "other words"
    _, differences = list(verify(tampered, context.of_line(tampered)))[3]
    assert differences == []

    answer["details"]["causes"][0]["field"] = "spec.other"
    _, differences = list(verify(tampered, context.of_line(tampered)))[3]
    assert [difference.where for difference in differences] == ["answer.fields[0]"]
