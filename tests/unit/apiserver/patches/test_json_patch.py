"""JSON patch: RFC 6902, and where kube-apiserver differs from it."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.patches import JSON_PATCH, patched, unknown_in_operations
from bayplan.apiserver.schema.schemas import published

NODE = published().node("io.k8s.api.core.v1.ConfigMap")
CURRENT = {
    "data": {"a": "1", "b": "2", "x/y": "3", "x~y": "4"},
    "list": [1, 2, 3],
    "none": None,
    "deep": {"d": {"e": 1}},
}


def apply(*operations: Any) -> Any:
    return patched(JSON_PATCH, copy.deepcopy(CURRENT), msgspec.json.encode(operations), NODE)


@pytest.mark.parametrize(
    ("operation", "path", "value"),
    [
        pytest.param({"op": "add", "path": "/data/c", "value": "9"}, ["data", "c"], "9", id="adds a member"),
        pytest.param({"op": "add", "path": "/data/a", "value": "9"}, ["data", "a"], "9", id="adds over a member"),
        pytest.param(
            {"op": "add", "path": "/list/1", "value": 9}, ["list"], [1, 9, 2, 3], id="adds before an element"
        ),
        pytest.param({"op": "add", "path": "/list/-", "value": 9}, ["list"], [1, 2, 3, 9], id="adds at the end"),
        pytest.param(
            {"op": "add", "path": "/list/3", "value": 9}, ["list"], [1, 2, 3, 9], id="adds at the length"
        ),
        pytest.param(
            {"op": "add", "path": "/list/-1", "value": 9}, ["list"], [1, 2, 3, 9], id="counts from the end"
        ),
        pytest.param({"op": "add", "path": "/data/c"}, ["data", "c"], None, id="adds null without a value"),
        pytest.param({"op": "remove", "path": "/list/0"}, ["list"], [2, 3], id="removes an element"),
        pytest.param({"op": "remove", "path": "/list/-1"}, ["list"], [1, 2], id="removes the last element"),
        pytest.param({"op": "replace", "path": "/data/a", "value": "9"}, ["data", "a"], "9", id="replaces"),
        pytest.param(
            {"op": "replace", "path": "/data/q", "value": "9"}, ["data", "q"], "9", id="replaces what is not there"
        ),
        pytest.param(
            {"op": "replace", "path": "/data/x~1y", "value": "9"}, ["data", "x/y"], "9", id="~1 is a slash"
        ),
        pytest.param(
            {"op": "replace", "path": "/data/x~0y", "value": "9"}, ["data", "x~y"], "9", id="~0 is a tilde"
        ),
        pytest.param(
            {"op": "copy", "from": "/deep", "path": "/data/c"}, ["data", "c"], {"d": {"e": 1}}, id="copies"
        ),
        pytest.param(
            {"op": "copy", "from": "/data/q", "path": "/data/c"}, ["data", "c"], None, id="copies nothing as null"
        ),
        pytest.param(
            {"op": "move", "from": "/list/0", "path": "/list/2"}, ["list"], [2, 3, 1], id="moves in a list"
        ),
        pytest.param(
            {"op": "add", "path": "ignored/c", "value": "9"},
            ["c"],
            "9",
            id="looks at nothing before the first slash",
        ),
    ],
)
def test_operation_applies(operation: dict[str, Any], path: list[str], value: Any) -> None:
    """What an operation leaves at a path."""
    found: Any = apply(operation)
    for step in path:
        found = found[step]
    assert found == value


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "add", "path": "/no/where", "value": 1}, id="no such parent"),
        pytest.param({"op": "add", "path": "/none/c", "value": 1}, id="null is no parent"),
        pytest.param({"op": "add", "path": "/data/a/c", "value": 1}, id="a text is no parent"),
        pytest.param({"op": "add", "path": "/list/4", "value": 1}, id="beyond the end"),
        pytest.param({"op": "add", "path": "/list/one", "value": 1}, id="no index"),
        pytest.param({"op": "add", "path": "", "value": {}}, id="the whole document cannot be added"),
        pytest.param({"op": "add", "value": 1}, id="no path"),
        pytest.param({"op": "remove", "path": "/data/q"}, id="removes what is not there"),
        pytest.param({"op": "remove", "path": "/list/3"}, id="removes beyond the end"),
        pytest.param({"op": "replace", "path": "/list/3", "value": 1}, id="replaces beyond the end"),
        pytest.param({"op": "replace", "path": "", "value": 1}, id="a document that is a number"),
        pytest.param({"op": "move", "from": "/data/q", "path": "/data/c"}, id="moves what is not there"),
        pytest.param({"op": "move", "path": "/data/c"}, id="moves from nowhere"),
        pytest.param({"op": "jump", "path": "/data/a"}, id="no such operation"),
        pytest.param({"path": "/data/a"}, id="no operation"),
        pytest.param({"op": "test", "path": "/data/a", "value": "2"}, id="test of another value"),
        pytest.param({"op": "test", "path": "/list/0", "value": 1.0}, id="test of a number in another form"),
        pytest.param({"op": "test", "path": "/list/0", "value": True}, id="true is not 1"),
        pytest.param({"op": "test", "path": "/list", "value": [1, 2]}, id="test of a shorter list"),
    ],
)
def test_operation_that_does_not_apply(operation: dict[str, Any]) -> None:
    """The error says that the patch does not apply, and nothing more."""
    with pytest.raises(StatusError) as refused:
        apply(operation)
    assert refused.value.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("/deep", {"d": {"e": 1}}, id="an object"),
        pytest.param("/list", [1, 2, 3], id="a list"),
        pytest.param("/none", None, id="null"),
        pytest.param("/data/q", None, id="what is not there is null"),
        pytest.param("", CURRENT, id="the whole document"),
    ],
)
def test_test_holds(path: str, value: Any) -> None:
    """A successful test changes nothing."""
    assert apply({"op": "test", "path": path, "value": value}) == CURRENT


def test_operations_apply_in_turn() -> None:
    """Each operation sees the result of those before it."""
    result = apply(
        {"op": "replace", "path": "", "value": {"data": {}}},
        {"op": "add", "path": "/data/a", "value": "1"},
        {"op": "copy", "from": "/data", "path": "/data/inner"},
    )
    assert result == {"data": {"a": "1", "inner": {"a": "1"}}}


def test_a_list_is_no_object() -> None:
    """A patch whose result is a list is invalid."""
    with pytest.raises(StatusError) as refused:
        apply({"op": "replace", "path": "", "value": []})
    assert (refused.value.code, refused.value.body["details"]["causes"][0]["field"]) == (422, "patch")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b'{"data":{}}', "object into Go value of type []handlers.jsonPatchOp", id="an object"),
        pytest.param(b"[1]", "number into Go value of type handlers.jsonPatchOp", id="a number for an operation"),
        pytest.param(
            b'[{"path":1}]',
            "number into Go struct field jsonPatchOp.path of type string",
            id="a number for a path",
        ),
    ],
)
def test_body_of_another_type(body: bytes, message: str) -> None:
    """A body that is not a list of operations is refused in the words of Go's decoder."""
    with pytest.raises(StatusError) as refused:
        patched(JSON_PATCH, {}, body, NODE)
    assert refused.value.code == 400
    assert refused.value.message == f"error decoding patch: json: cannot unmarshal {message}"


def test_too_many_operations() -> None:
    """Ten thousand operations are accepted, one more is refused."""
    test = {"op": "test", "path": "/data/a", "value": "1"}
    assert apply(*[test] * 10_000) == CURRENT
    with pytest.raises(StatusError) as refused:
        apply(*[test] * 10_001)
    assert refused.value.code == 413


def test_fields_that_mean_nothing() -> None:
    """Unknown fields of operations are reported with their paths."""
    body = b'[{"op":"test","path":"/a"},{"op":"test","path":"/a","form":"/b"}]'
    assert unknown_in_operations(body) == ['unknown field "[1].form"']
