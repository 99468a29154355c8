"""Selectors as text; kube-apiserver's messages for malformed ones are tested with the API server."""

from __future__ import annotations

import pytest

from bayplan.framework.selector_text import FieldTerm, parse_fields, parse_labels
from bayplan.model.label_selectors import SelectorError


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("app=web", {"app": "web"}, True),
        ("app==web", {"app": "db"}, False),
        ("app!=web", {}, True),
        ("app!=web", {"app": "web"}, False),
        ("app in (web, db)", {"app": "db"}, True),
        ("app in (web,)", {"app": ""}, True),
        ("app notin (web)", {}, True),
        ("app", {"app": ""}, True),
        ("!app", {"app": ""}, False),
        ("n>3", {"n": "4"}, True),
        ("n<3", {"n": "x"}, False),
        ("app=", {"app": ""}, True),
        (" app = web , n ", {"app": "web", "n": ""}, True),
        ("app=web,n", {"app": "web"}, False),
        ("kubernetes.io/os=linux", {"kubernetes.io/os": "linux"}, True),
    ],
    ids=str,
)
def test_label_selectors(text: str, labels: dict[str, str], matches: bool) -> None:
    """The syntax of `kubectl -l`."""
    assert parse_labels(text).matches(labels) is matches


@pytest.mark.parametrize("text", ["==bad", "app=web,", "app in (web"])
def test_a_malformed_label_selector_is_refused(text: str) -> None:
    with pytest.raises(SelectorError, match="found '"):
        parse_labels(text)


def test_field_selectors() -> None:
    """Both signs of equality are the same; commas in a value are escaped."""
    assert list(parse_fields(r"metadata.name==a\,b,status.phase!=Failed")) == [
        FieldTerm("metadata.name", True, "a,b"),
        FieldTerm("status.phase", False, "Failed"),
    ]
    with pytest.raises(SelectorError, match="can't understand"):
        list(parse_fields("metadata.name"))
