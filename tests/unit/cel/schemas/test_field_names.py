"""Names of fields in expressions."""

from __future__ import annotations

import pytest

from bayplan.cel.schemas.field_names import escaped


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("replicas", "replicas"),
        ("a.b-c/d", "a__dot__b__dash__c__slash__d"),
        ("namespace", "__namespace__"),
        ("a__b", "a__underscores__b"),
        ("_a_", "_a_"),
        ("1st", None),
        ("a$", None),
        ("", None),
        ("größe", None),
    ],
)
def test_escapes(name: str, identifier: str | None) -> None:
    """What an identifier cannot have is written out, or the field cannot be mentioned."""
    assert escaped(name) == identifier
