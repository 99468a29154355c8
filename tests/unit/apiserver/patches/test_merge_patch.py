"""JSON merge patch: RFC 7386, with its example table."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.patches import MERGE_PATCH, patched
from bayplan.apiserver.schema.schemas import published

NODE = published().node("io.k8s.api.core.v1.ConfigMap")


def apply(current: dict[str, Any], body: bytes) -> Any:
    return patched(MERGE_PATCH, current, body, NODE)


@pytest.mark.parametrize(
    ("current", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_examples_of_the_rfc(current: Any, patch: Any, result: Any) -> None:
    """The examples of RFC 7386, appendix A, whose documents are objects."""
    assert apply(current, msgspec.json.encode(patch)) == result


def test_nulls_in_new_lists_of_objects() -> None:
    """A new list loses the null members of its objects, but not its null elements."""
    assert apply({}, b'{"a":[{"b":null,"c":1},null]}') == {"a": [{"c": 1}, None]}


def test_list_in_place_of_an_object_is_taken_as_it_is() -> None:
    """In a list that replaces an object, even null members of its objects stay."""
    assert apply({"a": {"b": 1}}, b'{"a":[{"b":null}]}') == {"a": [{"b": None}]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            b"[1]",
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
            id="a list",
        ),
        pytest.param(b"null", "Invalid JSON Patch", id="null"),
    ],
)
def test_body_that_is_no_object(body: bytes, message: str) -> None:
    """A merge patch must be an object."""
    with pytest.raises(StatusError) as refused:
        apply({}, body)
    assert (refused.value.code, refused.value.message) == (400, message)
