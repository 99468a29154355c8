"""Completion indexes as text, and success policies."""

from __future__ import annotations

import pytest

from bayplan.controllers.batch.job_indexes import format_indexes, matched_rule, parse_indexes


@pytest.mark.parametrize(
    ("indexes", "text"),
    [(set(), ""), ({4}, "4"), ({0, 1}, "0,1"), ({0, 1, 2}, "0-2"), ({7, 0, 2, 3, 4, 5}, "0,2-5,7")],
)
def test_format_and_back(indexes: set[int], text: str) -> None:
    assert format_indexes(indexes) == text
    assert not text or parse_indexes(text, 10) == indexes


@pytest.mark.parametrize("text", ["", "x", "1-x", "-1"])
def test_a_text_that_cannot_be_read_has_no_indexes(text: str) -> None:
    assert parse_indexes(text, 10) == set()


def test_the_first_rule_that_is_met_counts() -> None:
    rules = [{"succeededIndexes": "0-2"}, {"succeededIndexes": "3-5", "succeededCount": 2}, {"succeededCount": 4}]
    job = {"spec": {"completions": 9, "successPolicy": {"rules": rules}}}
    assert matched_rule(job, set()) is None
    assert matched_rule(job, {0, 1, 3}) is None
    assert matched_rule(job, {0, 1, 2}) == 0
    assert matched_rule(job, {3, 5}) == 1
    assert matched_rule(job, {0, 6, 7, 8}) == 2
