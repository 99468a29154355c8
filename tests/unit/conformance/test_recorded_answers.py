"""Requests refer to answers of earlier steps."""

from __future__ import annotations

from bayplan.conformance.recorded_answers import RecordedAnswers


def test_placeholders_are_filled_in_everywhere() -> None:
    """In texts, objects and lists, by keys and positions; other values stay."""
    answers = RecordedAnswers()
    answers.note(0, {"metadata": {"uid": "u-1"}, "items": [{"name": "a"}, {"name": "b"}]})

    filled = answers.filled(
        {"path": "/x/{{0.metadata.uid}}?n={{0.items.1.name}}", "list": ["{{0.metadata.uid}}", 3]}
    )

    assert filled == {"path": "/x/u-1?n=b", "list": ["u-1", 3]}


def test_field_that_is_not_there_is_empty() -> None:
    """As where a step was refused."""
    answers = RecordedAnswers()
    answers.note(0, {"items": []})

    assert answers.filled("[{{0.items.0.name}}{{0.a.b}}{{7.a}}]") == "[]"
