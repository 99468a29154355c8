"""Paths, methods and formats: the parts of a request that do not depend on the kind."""

from __future__ import annotations

import json

import pytest
import yaml
from tests.unit.apiserver.direct_client import CONFIG_MAPS, DirectClient

from bayplan.apiserver.rest.handler import MAX_BODY_BYTES

NOT_FOUND = "the server could not find the requested resource"
NOT_ALLOWED = "the server does not allow this method on the requested resource"
META = "g=meta.k8s.io"


@pytest.fixture
def client() -> DirectClient:
    return DirectClient()


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/api/v1/nonsense", 404, NOT_FOUND),
        ("GET", "/api/v2", 404, NOT_FOUND),
        ("GET", "/apis/apps/v2", 404, NOT_FOUND),
        ("GET", "/apis/apps/v1/nonsense", 404, NOT_FOUND),
        ("GET", "/api/v1/namespaces/default/nodes", 404, NOT_FOUND),
        ("GET", "/api/v1/configmaps/a", 404, NOT_FOUND),
        ("GET", f"{CONFIG_MAPS}/a/b", 404, NOT_FOUND),
        ("GET", f"{CONFIG_MAPS}/a/b/c", 404, NOT_FOUND),
        ("GET", f"{CONFIG_MAPS}/a", 404, 'configmaps "a" not found'),
        ("GET", "/apis/apps/v1/namespaces/default/deployments/a", 404, 'deployments.apps "a" not found'),
        ("POST", f"{CONFIG_MAPS}/a", 405, NOT_ALLOWED),
        ("POST", "/api/v1/configmaps", 405, NOT_ALLOWED),
        ("PUT", CONFIG_MAPS, 405, NOT_ALLOWED),
        ("HEAD", f"{CONFIG_MAPS}/a", 405, NOT_ALLOWED),
        ("DELETE", "/api/v1/namespaces", 405, NOT_ALLOWED),
    ],
    ids=str,
)
def test_paths_and_methods(client: DirectClient, method: str, path: str, status: int, message: str) -> None:
    answered, answer = client.request(method, path)

    assert (answered, answer["message"]) == (status, message)


@pytest.mark.parametrize("path", ["/nonsense", "/apis/none.example.com/v1/things", "/apis/none.example.com/v1"])
def test_an_unserved_group_is_page_not_found(client: DirectClient, path: str) -> None:
    response = client.response("GET", path)

    assert (response.status, response.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/livez", "ok"),
        ("/readyz?verbose", "[+]ping ok\nreadyz check passed\n"),
        ("/healthz/ping", "ok"),
    ],
    ids=str,
)
def test_health(client: DirectClient, path: str, body: str) -> None:
    response = client.response("GET", path)

    assert (response.status, response.body.decode()) == (200, body)


def test_the_root_lists_the_paths(client: DirectClient) -> None:
    _, answer = client.request("GET", "/")

    assert {"/api/v1", "/apis/apps/v1", "/version", "/livez"} <= set(answer["paths"])


# --- formats --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accept", "kind", "version"),
    [
        ("", "ConfigMapList", "v1"),
        ("*/*", "ConfigMapList", "v1"),
        ("text/html, */*", "ConfigMapList", "v1"),
        ("application/vnd.kubernetes.protobuf,application/json", "ConfigMapList", "v1"),
        (f"application/json;as=Table;v=v1;{META},application/json", "Table", "meta.k8s.io/v1"),
        (f"application/json;as=Table;v=v7;{META},application/json", "ConfigMapList", "v1"),
        (
            f"application/json;as=PartialObjectMetadataList;v=v1;{META}",
            "PartialObjectMetadataList",
            "meta.k8s.io/v1",
        ),
        (f"application/json;q=0.5,application/json;as=Table;v=v1;{META}", "Table", "meta.k8s.io/v1"),
    ],
    ids=str,
)
def test_the_best_supported_format_is_chosen(client: DirectClient, accept: str, kind: str, version: str) -> None:
    _, answer = client.request("GET", CONFIG_MAPS, accept=accept)

    assert (answer["kind"], answer["apiVersion"]) == (kind, version)


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        pytest.param(CONFIG_MAPS, "text/html", id="a format we do not write"),
        pytest.param(CONFIG_MAPS, f"application/json;as=PartialObjectMetadata;v=v1;{META}", id="a list as one"),
        pytest.param(
            f"{CONFIG_MAPS}/a", f"application/json;as=PartialObjectMetadataList;v=v1;{META}", id="one as a list"
        ),
    ],
)
def test_unsupported_representations_are_not_acceptable(client: DirectClient, path: str, accept: str) -> None:
    client.create("a")
    status, answer = client.request("GET", path, accept=accept)

    assert (status, answer["reason"]) == (406, "NotAcceptable")


def test_yaml_in_and_out(client: DirectClient) -> None:
    """Timestamps are strings, and quoted numbers stay strings."""
    body = b"metadata:\n  name: a\n  annotations: {when: 2026-01-01T00:00:00Z, n: '7'}\n"
    response = client.response(
        "POST", CONFIG_MAPS, body, content_type="application/yaml", accept="application/yaml"
    )

    assert response.content_type == "application/yaml"
    assert yaml.safe_load(response.body)["metadata"]["annotations"] == {"when": "2026-01-01T00:00:00Z", "n": "7"}


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/xml", "application/json;charset", "application/cbor"], ids=str
)
def test_other_formats_are_refused(client: DirectClient, content_type: str) -> None:
    status, answer = client.request("POST", CONFIG_MAPS, {"metadata": {"name": "a"}}, content_type=content_type)

    assert (status, answer["reason"]) == (415, "UnsupportedMediaType")


def test_a_body_beyond_the_limit_is_refused(client: DirectClient) -> None:
    status, answer = client.request("POST", CONFIG_MAPS, b" " * (MAX_BODY_BYTES + 1))

    assert (status, answer["message"]) == (413, "Request entity too large: limit is 3145728")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("dryRun=Some", "dryRun"),
        ("fieldValidation=Loud", "fieldValidation"),
        ("fieldManager=" + "x" * 129, "fieldManager"),
        ("fieldManager=a%0Ab", "fieldManager"),
    ],
    ids=["dryRun", "fieldValidation", "a long manager", "a manager of two lines"],
)
def test_options_of_writes_are_checked(client: DirectClient, query: str, field: str) -> None:
    status, answer = client.request("POST", f"{CONFIG_MAPS}?{query}", {"metadata": {"name": "a"}})

    assert status == 422
    assert [cause["field"] for cause in answer["details"]["causes"]] == [field]
    assert answer["details"]["kind"] == "CreateOptions"


@pytest.mark.parametrize(
    ("validation", "status", "warnings"),
    [
        ("Strict", 400, 0),
        ("Warn", 201, 2),
        ("", 201, 2),
        ("Ignore", 201, 0),
    ],
    ids=str,
)
def test_unknown_and_duplicate_fields(client: DirectClient, validation: str, status: int, warnings: int) -> None:
    """Refused, warned about or ignored, as the client requests; warned about by default."""
    body = b'{"metadata":{"name":"b","name":"a"},"colour":"red"}'
    response = client.response("POST", f"{CONFIG_MAPS}?fieldValidation={validation}", body)

    assert (response.status, len(response.warnings)) == (status, warnings)


def test_a_bug_is_an_internal_error(client: DirectClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request fails with the reason; the server continues."""

    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(client.server.registry.admission, "admit", fail)
    status, answer = client.request("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})

    assert (status, answer["message"]) == (500, "Internal error occurred: broken")
    assert json.loads(client.response("GET", CONFIG_MAPS).body)["items"] == []


def test_json_that_nests_too_deeply_is_a_bad_request() -> None:
    client = DirectClient()
    deep = b'{"metadata":{"name":"a"},"data":' + b'{"a":' * 10_001 + b"1" + b"}" * 10_001 + b"}"
    status, answer = client.request("POST", CONFIG_MAPS, deep)
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert "exceeded max depth" in answer["message"]


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    client = DirectClient()
    status, answer = client.request("POST", CONFIG_MAPS, b'{"metadata":{"name":"a"},"data":{"k":"x\xff\xfey"}}')
    assert status == 201, answer
    assert answer["data"] == {"k": "x\ufffd\ufffdy"}
