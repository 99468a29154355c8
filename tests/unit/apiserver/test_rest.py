"""Paths, methods, formats: what the server understands of a request before any kind has a say."""

from __future__ import annotations

import json

import pytest
import yaml
from tests.unit.apiserver.asking import CONFIG_MAPS, Asker

from bayplan.apiserver.rest.rest import MAX_BODY_BYTES

NOT_FOUND = "the server could not find the requested resource"
NOT_ALLOWED = "the server does not allow this method on the requested resource"
META = "g=meta.k8s.io"


@pytest.fixture
def asker() -> Asker:
    return Asker()


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
def test_paths_and_methods(asker: Asker, method: str, path: str, status: int, message: str) -> None:
    answered, answer = asker.ask(method, path)

    assert (answered, answer["message"]) == (status, message)


@pytest.mark.parametrize("path", ["/nonsense", "/apis/none.example.com/v1/things", "/apis/none.example.com/v1"])
def test_what_no_group_serves_is_no_page(asker: Asker, path: str) -> None:
    response = asker.response("GET", path)

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
def test_health(asker: Asker, path: str, body: str) -> None:
    response = asker.response("GET", path)

    assert (response.status, response.body.decode()) == (200, body)


def test_the_root_lists_the_paths(asker: Asker) -> None:
    _, answer = asker.ask("GET", "/")

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
def test_the_best_format_that_we_write_is_chosen(asker: Asker, accept: str, kind: str, version: str) -> None:
    _, answer = asker.ask("GET", CONFIG_MAPS, accept=accept)

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
def test_what_cannot_be_shown_is_not_acceptable(asker: Asker, path: str, accept: str) -> None:
    asker.create("a")
    status, answer = asker.ask("GET", path, accept=accept)

    assert (status, answer["reason"]) == (406, "NotAcceptable")


def test_yaml_in_and_out(asker: Asker) -> None:
    """Times are texts, and numbers in quotes stay texts."""
    body = b"metadata:\n  name: a\n  annotations: {when: 2026-01-01T00:00:00Z, n: '7'}\n"
    response = asker.response(
        "POST", CONFIG_MAPS, body, content_type="application/yaml", accept="application/yaml"
    )

    assert response.content_type == "application/yaml"
    assert yaml.safe_load(response.body)["metadata"]["annotations"] == {"when": "2026-01-01T00:00:00Z", "n": "7"}


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/xml", "application/json;charset", "application/cbor"], ids=str
)
def test_other_formats_are_refused(asker: Asker, content_type: str) -> None:
    status, answer = asker.ask("POST", CONFIG_MAPS, {"metadata": {"name": "a"}}, content_type=content_type)

    assert (status, answer["reason"]) == (415, "UnsupportedMediaType")


def test_a_body_beyond_the_limit_is_refused(asker: Asker) -> None:
    status, answer = asker.ask("POST", CONFIG_MAPS, b" " * (MAX_BODY_BYTES + 1))

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
def test_options_of_writes_are_checked(asker: Asker, query: str, field: str) -> None:
    status, answer = asker.ask("POST", f"{CONFIG_MAPS}?{query}", {"metadata": {"name": "a"}})

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
def test_unknown_and_duplicate_fields(asker: Asker, validation: str, status: int, warnings: int) -> None:
    """Refused, warned of or ignored, as the client says; warned of if it says nothing."""
    body = b'{"metadata":{"name":"b","name":"a"},"colour":"red"}'
    response = asker.response("POST", f"{CONFIG_MAPS}?fieldValidation={validation}", body)

    assert (response.status, len(response.warnings)) == (status, warnings)


def test_a_bug_is_an_internal_error(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    """One request fails, with the reason; the server goes on."""

    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(asker.server.registry.admission, "admit", fail)
    status, answer = asker.ask("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})

    assert (status, answer["message"]) == (500, "Internal error occurred: broken")
    assert json.loads(asker.response("GET", CONFIG_MAPS).body)["items"] == []
