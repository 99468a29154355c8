"""Requeues: which pods kube-scheduler of each release tried again after one change, and which we do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bayplan.conformance import Context, read_lines, run
from bayplan.conformance.requeues import verify
from bayplan.scheduler import default_registry

GOLDEN = Path(__file__).parent / "golden"
RECORDING = GOLDEN / "requeue-v1.36.4.jsonl.gz"


@pytest.fixture(scope="module")
def context() -> Context:
    """The plugins that ship with Bayplan, which are those of the recorded scheduler."""
    return Context(default_registry())


@pytest.mark.parametrize(("release", "n_steps"), [("v1.36.4", 64), ("v1.37.1", 63)])
def test_all_recorded_requeues_are_identical(context: Context, release: str, n_steps: int) -> None:
    """The same pods are tried again, and end with the same node or message."""
    report = run([GOLDEN / f"requeue-{release}.jsonl.gz"], context)

    assert report.identical == report.total == n_steps, report.to_text()


@pytest.fixture(scope="module")
def first() -> dict[str, Any]:
    """A node gets the label that the pod `disk` waits for."""
    return next(read_lines(RECORDING))


@pytest.mark.parametrize(
    ("pod", "change", "where"),
    [
        pytest.param("disk", {"attempts_after_change": 0}, "disk: tried again", id="tried again or not"),
        pytest.param("gated", {"attempts_before": 1}, "gated: tried before", id="tried before or not"),
        pytest.param("disk", {"after": {"node": None, "message": "x"}}, "disk: after.node", id="placed or not"),
        pytest.param("aff", {"before": {"node": None, "message": "x"}}, "aff: before.message", id="the message"),
    ],
)
def test_every_difference_is_found(
    first: dict[str, Any], context: Context, pod: str, change: dict[str, Any], where: str
) -> None:
    """A verifier that finds everything identical is worth nothing."""
    tampered = {**first, "result": {**first["result"], pod: {**first["result"][pod], **change}}}
    ((label, differences),) = verify(tampered, context.of_line(tampered))

    assert label == "update Node n0"
    assert where in [difference.where for difference in differences]
