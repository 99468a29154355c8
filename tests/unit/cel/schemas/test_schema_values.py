"""Values of custom resources as expressions see them."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.cel.runtime.cel_values import Duration, Timestamp
from bayplan.cel.schemas import schema_value

STRING = {"type": "string"}
SET = {"type": "array", "x-kubernetes-list-type": "set", "items": STRING}


@pytest.mark.parametrize(
    ("schema", "value", "seen"),
    [
        ({"type": "number"}, 1, 1.0),
        ({"type": "string", "format": "byte"}, "YWJj", b"abc"),
        ({"type": "string", "format": "duration"}, "1m30s", Duration(90 * 10**9)),
        ({"type": "string", "format": "date"}, "1970-01-02", Timestamp(86_400 * 10**9)),
        ({"x-kubernetes-int-or-string": True}, 5, 5),
        ({"type": "object", "additionalProperties": {"type": "number"}}, {"a-b": 1}, {"a-b": 1.0}),
        ({"type": "object", "properties": {"a-b": STRING}}, {"a-b": "x", "c": 1}, {"a__dash__b": "x"}),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"a": 1}, {}),
        ({**STRING, "nullable": True}, None, None),
    ],
)
def test_values_have_the_type_of_their_schema(schema: dict[str, Any], value: Any, seen: Any) -> None:
    found = schema_value(schema, value)

    assert (type(found), found) == (type(seen), seen)


def test_order_of_a_set_does_not_count() -> None:
    """It takes on the order of the value that it is compared with, if both have the same elements."""
    assert schema_value(SET, ["b", "a"], ["a", "b"]) == ["a", "b"]
    assert schema_value(SET, ["b", "c"], ["a", "b"]) == ["b", "c"]
    assert schema_value({**SET, "x-kubernetes-list-type": "atomic"}, ["b", "a"], ["a", "b"]) == ["b", "a"]
