"""Patch requests: names, unknown fields, and patches that change nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.patches import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from bayplan.apiserver.transport.api_messages import ApiRequest, ApiResponse
from bayplan.clock import SystemClock

PLACE = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def server() -> ApiServer:
    server = ApiServer(SystemClock())
    body = {"metadata": {"name": "c"}, "data": {"a": "1"}}
    assert send(server, "POST", body, path=PLACE).status == 201
    return server


def send(
    server: ApiServer,
    method: str,
    body: Any = None,
    content_type: str = "application/json",
    path: str = f"{PLACE}/c",
    **query: str,
) -> ApiResponse:
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    return server.handle(ApiRequest(method, path, {k: [v] for k, v in query.items()}, data, content_type))


def told(response: ApiResponse) -> Any:
    return json.loads(response.body)


@pytest.mark.parametrize(
    ("content_type", "body", "warnings"),
    [
        pytest.param(MERGE_PATCH, b'{"bogus":1}', ('unknown field "bogus"',), id="merge: unknown"),
        pytest.param(
            MERGE_PATCH, b'{"data":{"b":"1","b":"2"}}', ('duplicate field "data.b"',), id="merge: duplicate"
        ),
        pytest.param(STRATEGIC_MERGE_PATCH, b'{"bogus":1}', ('unknown field "bogus"',), id="strategic: unknown"),
        pytest.param(
            JSON_PATCH,
            b'[{"op":"add","path":"/data/b","value":"1","valeu":"2"}]',
            ('json patch unknown field "[0].valeu"',),
            id="json: unknown",
        ),
    ],
)
def test_findings(server: ApiServer, content_type: str, body: bytes, warnings: tuple[str, ...]) -> None:
    """Unknown and duplicate fields cause warnings, an invalid patch, or nothing, as requested."""
    assert send(server, "PATCH", body, content_type, fieldValidation="Ignore").warnings == ()
    assert send(server, "PATCH", body, content_type).warnings == warnings
    strict = send(server, "PATCH", body, content_type, fieldValidation="Strict")
    assert strict.status == 422
    assert [cause["field"] for cause in told(strict)["details"]["causes"]] == ["patch"]
    assert f"strict decoding error: {warnings[0]}" in told(strict)["message"]


def test_result_that_is_no_object_of_the_kind(server: ApiServer) -> None:
    """A patch that puts a number in the place of a string is invalid."""
    answer = send(server, "PATCH", {"data": {"a": 1}}, MERGE_PATCH)
    assert (answer.status, told(answer)["details"]["causes"][0]["field"]) == (422, "patch")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("d", "the name of the object (d) does not match the name on the URL (c)", id="another"),
        pytest.param(
            None,
            "the name of the object (c based on URL) was undeterminable: name must be provided",
            id="none",
        ),
    ],
)
def test_name_stays(server: ApiServer, name: str | None, message: str) -> None:
    """A patch cannot rename an object."""
    answer = send(server, "PATCH", {"metadata": {"name": name}}, MERGE_PATCH)
    assert (answer.status, told(answer)["message"]) == (400, message)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        pytest.param(MERGE_PATCH, {"data": {"a": "1"}}, id="merge"),
        pytest.param(JSON_PATCH, [], id="json"),
        pytest.param(STRATEGIC_MERGE_PATCH, {}, id="strategic"),
    ],
)
def test_a_patch_without_changes_is_not_written(server: ApiServer, content_type: str, body: Any) -> None:
    """The response is the object as a GET shows it, with its old version: kubectl says "no change"."""
    before = told(send(server, "GET"))
    assert told(send(server, "PATCH", body, content_type)) == before


def test_apply_again_is_not_written(server: ApiServer) -> None:
    """The same configuration from the same manager changes nothing either."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"b": "2"}}
    first = told(send(server, "PATCH", config, APPLY_PATCH, fieldManager="ann"))
    assert told(send(server, "PATCH", config, APPLY_PATCH, fieldManager="ann")) == first


def test_apply_reads_yaml(server: ApiServer) -> None:
    """A configuration may be YAML, and a missing object is created."""
    config = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: d\ndata:\n  b: '2'\n"
    answer = send(server, "PATCH", config, APPLY_PATCH, path=f"{PLACE}/d", fieldManager="ann")
    assert (answer.status, told(answer)["data"]) == (201, {"b": "2"})
    assert [entry["manager"] for entry in told(answer)["metadata"]["managedFields"]] == ["ann"]


@pytest.mark.parametrize(
    ("content_type", "query", "field"),
    [
        pytest.param(APPLY_PATCH, {}, "fieldManager", id="an apply without a manager"),
        pytest.param(MERGE_PATCH, {"force": "true"}, "force", id="force without an apply"),
    ],
)
def test_options_that_do_not_fit(server: ApiServer, content_type: str, query: dict[str, str], field: str) -> None:
    """Options are checked first."""
    answer = send(server, "PATCH", {}, content_type, **query)
    assert (answer.status, [cause["field"] for cause in told(answer)["details"]["causes"]]) == (422, [field])
