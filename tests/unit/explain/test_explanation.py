"""The published format: its schema, and its version in every answer."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from tests.unit.explain.applied import scheduler_of

from bayplan.explain.explainer import Explainer
from bayplan.explain.explanation import API_VERSION, AnswerSource, Explanation, published_schema
from bayplan.testing import make_node, make_pod

SCHEMA = Path(__file__).parents[3] / "docs" / "explain.schema.json"


def test_the_published_schema_is_that_of_the_code() -> None:
    """`python -m bayplan.explain.explanation > docs/explain.schema.json` writes it."""
    assert json.loads(SCHEMA.read_text()) == published_schema()


def test_an_answer_can_be_read_again() -> None:
    """Version and kind are there, although they are always the same."""
    explainer = Explainer(scheduler_of(make_node("n", cpu="1")), AnswerSource(kind="snapshot", description="x"))
    answer = explainer.explain(make_pod("p", cpu="2"))

    encoded = msgspec.json.encode(answer)

    assert json.loads(encoded)["apiVersion"] == API_VERSION
    assert json.loads(encoded)["kind"] == "Explanation"
    assert msgspec.json.decode(encoded, type=Explanation) == answer
