"""The text of answers: what is not in the guide, where other tests read it."""

from __future__ import annotations

from bayplan.cli.explanation_text import TextForm, explanation_lines, pending_lines
from bayplan.explain.explanation import (
    AnswerSource,
    Explanation,
    NotSeen,
    PastAttempt,
    PendingReport,
    PodOutcome,
    PodReference,
)

RULES = "Rules about them are answered as if there were none."
SOURCE = AnswerSource(
    kind="cluster",
    description="x",
    not_seen=(
        NotSeen(resource="services", reason="services is forbidden", consequence=RULES),
        NotSeen(resource="namespaces", reason="namespaces is forbidden", consequence="Terms match none."),
        NotSeen(resource="csinodes", reason="csinodes is forbidden", consequence=RULES),
    ),
)
ANSWER = Explanation(
    pod=PodReference(namespace="default", name="p"),
    profile="default-scheduler",
    source=SOURCE,
    outcome=PodOutcome(state="Waiting", summary="default/p waits."),
    attempts=(
        PastAttempt(at="2026-01-01T00:00:09Z", message="0/1 nodes are available: 1 Insufficient cpu."),
        PastAttempt(at="2026-01-01T00:00:01Z", node="n"),
    ),
)
_GROUPED = [
    f"Note: csinodes, services could not be read (csinodes is forbidden). {RULES}",
    "Note: namespaces could not be read (namespaces is forbidden). Terms match none.",
]


def test_what_could_not_be_read_is_one_sentence_per_consequence() -> None:
    """Somebody with few rights may not read twenty kinds, and wants to see the answer."""
    assert list(explanation_lines(ANSWER, TextForm(200)))[1:] == ["", *_GROUPED]
    report = PendingReport(source=SOURCE, n_pending=0)
    assert [line for line in pending_lines(report, TextForm(200)) if line.startswith("Note")] == _GROUPED


def test_wide_shows_every_reason_and_every_attempt() -> None:
    lines = list(explanation_lines(ANSWER, TextForm(200, wide=True)))

    assert [line for line in lines if "services is forbidden" in line]
    assert lines[3:5] == [
        "  2026-01-01T00:00:09Z  0/1 nodes are available: 1 Insufficient cpu.",
        "  2026-01-01T00:00:01Z  n",
    ]
