"""Extenders: what kube-scheduler of each release asked them and what became of the pod, and what we do."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bayplan.conformance import Context, read_lines, run
from bayplan.conformance.extender_calls import verify
from bayplan.scheduler import default_registry

GOLDEN = Path(__file__).parent / "golden"
RECORDING = GOLDEN / "extenders-v1.36.4.jsonl.gz"


@pytest.fixture(scope="module")
def context() -> Context:
    """The plugins that ship with Bayplan, which are those of the recorded scheduler."""
    return Context(default_registry())


@pytest.mark.parametrize(("release", "n_steps"), [("v1.36.4", 59), ("v1.37.1", 59)])
def test_all_recorded_extenders_are_identical(context: Context, release: str, n_steps: int) -> None:
    """The same requests, and the same outcome."""
    report = run([GOLDEN / f"extenders-{release}.jsonl.gz"], context)

    assert report.identical == report.total == n_steps, report.to_text()


@pytest.fixture(scope="module")
def cases() -> dict[str, dict[str, Any]]:
    return {line["case"]: line for line in read_lines(RECORDING)}


def _set(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    """Writes *value* at a dotted path."""

    def change(line: Any) -> None:
        *way, last = (int(part) if part.isdecimal() else part for part in path.split("."))
        for part in way:
            line = line[part]
        line[last] = value

    return change


@pytest.mark.parametrize(
    ("case", "change", "where"),
    [
        pytest.param("filter keeps one, nodes", _set("result.node", "a"), "node", id="another node"),
        pytest.param("filter 500", _set("result.reason", "Unschedulable"), "reason", id="another reason"),
        pytest.param("filter 500", _set("result.message", "no"), "message", id="another message"),
        pytest.param("filter timeout", _set("result.message", "EOF"), "message", id="another meaning"),
        pytest.param("two prioritize", _set("result.scores.a.total", 1), "scores.a.total", id="another total"),
        pytest.param("preempt keeps one", _set("result.victims", ["v0-a"]), "victims", id="other victims"),
        pytest.param("bind ok", _set("result", {"node": "a"}), "bind_delegated", id="bound by somebody else"),
        pytest.param("filter 500", _set("requests.0.path", "/other"), "requests", id="another path"),
        pytest.param(
            "prioritize names",
            _set("requests.0.body.NodeNames", ["a"]),
            "request 0 /prioritize.body.NodeNames",
            id="other nodes asked about",
        ),
        pytest.param(
            "filter 500",
            _set("requests.0.body.Pod.spec.priority", 7),
            "request 0 /filter.body.Pod.spec.priority",
            id="another pod",
        ),
        pytest.param(
            "filter 500", _set("requests.0.accept", "x"), "request 0 /filter.accept", id="another header"
        ),
    ],
)
def test_every_difference_is_found(
    cases: dict[str, dict[str, Any]],
    context: Context,
    case: str,
    change: Callable[[dict[str, Any]], None],
    where: str,
) -> None:
    """A verifier that finds everything identical is worth nothing."""
    tampered = copy.deepcopy(cases[case])
    change(tampered)
    ((_, differences),) = verify(tampered, context.of_line(tampered))

    assert where in [difference.where for difference in differences]
