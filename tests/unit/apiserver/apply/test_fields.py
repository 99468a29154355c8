"""Field sets and set operations on them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.apiserver.apply.fields import (
    difference,
    in_order,
    insert,
    intersection,
    key_element,
    path_text,
    paths,
    union,
    value_element,
    without,
)

ELEMENTS = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', "v:1"])
PATHS = st.lists(ELEMENTS, min_size=1, max_size=3).map(tuple)
SETS = st.frozensets(PATHS, max_size=6)


def fields(of: Any) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for path in of:
        insert(result, path)
    return result


@given(left=SETS, right=SETS)
def test_arithmetic_is_that_of_sets(left: frozenset[Any], right: frozenset[Any]) -> None:
    """A tree of fields is a set of paths, whatever its form."""
    a, b = fields(left), fields(right)
    assert set(paths(a)) == left
    assert set(paths(union(a, b))) == left | right
    assert set(paths(intersection(a, b))) == left & right
    assert set(paths(difference(a, b))) == left - right


@given(left=SETS, right=SETS)
def test_without_takes_what_is_below(left: frozenset[Any], right: frozenset[Any]) -> None:
    """Every path that begins with one of the right set is removed."""
    kept = {path for path in left if not any(path[: len(gone)] == gone for gone in right)}
    assert set(paths(without(fields(left), fields(right)))) == kept


def test_form_of_a_member_with_members_below() -> None:
    """A dot marks a node that is itself in the set."""
    result = fields([("f:a",), ("f:a", "f:b"), ("f:c", "f:d")])
    assert result == {"f:a": {".": {}, "f:b": {}}, "f:c": {"f:d": {}}}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param(("f:spec", "f:replicas"), ".spec.replicas", id="names"),
        pytest.param(
            ("f:ports", key_element({"protocol": "TCP", "port": 80})), '.ports[port=80,protocol="TCP"]', id="key"
        ),
        pytest.param(("f:finalizers", value_element("a/b")), '.finalizers[="a/b"]', id="value"),
    ],
)
def test_path_as_conflicts_show_it(path: tuple[str, ...], text: str) -> None:
    """List elements are identified by their keys in alphabetical order, or by their values."""
    assert path_text(path) == text


def test_order_of_writing() -> None:
    """The dot, then names, then keys, then values; numbers by size."""
    ports = [key_element({"port": port}) for port in (443, 80, 8080)]
    mixed: dict[str, Any] = {value_element("b"): {}, **{port: {} for port in ports}, "f:b": {}, "f:a": {}, ".": {}}
    assert list(in_order(mixed)) == [".", "f:a", "f:b", ports[1], ports[0], ports[2], value_element("b")]


def test_text_inside_html() -> None:
    """Go escapes HTML characters, and keys compare as text."""
    assert value_element("<a&b>") == 'v:"\\u003ca\\u0026b\\u003e"'
