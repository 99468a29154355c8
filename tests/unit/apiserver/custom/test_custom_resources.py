"""CustomResourceDefinitions and their resources as a client sees them, from creation to deletion."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.client.doubles import LoopClock

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.transport.api_messages import ApiRequest, ApiResponse

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_LAMPS = "/apis/example.com/v1/namespaces/default/lamps"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Clock(LoopClock):
    """A clock that stands still."""

    def now(self) -> float:
        return 1_800_000_000.0

    def monotonic(self) -> float:
        return 0.0


class Client:
    """Calls the server in the same process."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server

    def raw(self, method: str, path: str, body: Any = None, **more: Any) -> ApiResponse:
        text = b"" if body is None else json.dumps(body).encode()
        return self.server.handle(ApiRequest(method, path, body=text, **more))

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        return json.loads(self.raw(method, path, body, **more).body)


@pytest.fixture(name="client")
def _client() -> Client:
    return Client(ApiServer(Clock()))


def _definition(**version: Any) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"colour": {"type": "string"}, "n": {"type": "integer"}}},
            "status": {"type": "object", "properties": {"on": {"type": "boolean"}}},
        },
    }
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}]
    names = {"plural": "lamps", "kind": "Lamp", "shortNames": ["lp"]}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": "lamps.example.com"}, "spec": spec}


def _lamp(name: str = "l", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": name}, **fields}


def _conditions(definition: dict[str, Any]) -> dict[str, str]:
    return {each["type"]: each["status"] for each in definition["status"]["conditions"] or ()}


def test_a_definition_is_established_by_the_next_request(client: Client) -> None:
    """The response to its creation shows no conditions yet, as in kube-apiserver."""
    created = client.ask("POST", _DEFINITIONS, _definition())
    assert created["status"]["conditions"] is None
    assert created["spec"]["names"]["listKind"] == "LampList"
    assert created["status"]["storedVersions"] == ["v1"]
    found = client.ask("GET", f"{_DEFINITIONS}/lamps.example.com")
    assert _conditions(found) == {"NamesAccepted": "True", "Established": "True"}
    assert found["status"]["acceptedNames"] == created["spec"]["names"]
    assert client.ask("POST", _LAMPS, _lamp())["metadata"]["generation"] == 1


def test_discovery_and_openapi_include_it(client: Client) -> None:
    """`kubectl get lp` and `kubectl explain lamp` find what they need."""
    client.ask("POST", _DEFINITIONS, _definition())
    (listed,) = client.ask("GET", "/apis/example.com/v1")["resources"]
    assert (listed["kind"], listed["shortNames"]) == ("Lamp", ["lp"])
    document = client.ask("GET", "/openapi/v3/apis/example.com/v1")
    lamp = document["components"]["schemas"]["com.example.v1.Lamp"]
    assert lamp["properties"]["spec"]["properties"]["colour"] == {"type": "string"}
    assert lamp["x-kubernetes-group-version-kind"] == [{"group": "example.com", "version": "v1", "kind": "Lamp"}]


def test_names_in_use_are_not_accepted(client: Client) -> None:
    """The second definition with the same kind in a group is not accepted, and serves nothing."""
    client.ask("POST", _DEFINITIONS, _definition())
    second = _definition()
    second["metadata"]["name"] = "lights.example.com"
    second["spec"]["names"] = {"plural": "lights", "kind": "Lamp"}
    client.ask("POST", _DEFINITIONS, second)
    found = client.ask("GET", f"{_DEFINITIONS}/lights.example.com")
    assert _conditions(found) == {"NamesAccepted": "False", "Established": "False"}
    assert client.raw("GET", "/apis/example.com/v1/lights").status == 404


@pytest.mark.parametrize(
    ("subresources", "created", "generation"),
    [({"status": {}}, None, 1), (None, {"on": True}, 2)],
    ids=["with the subresource", "without"],
)
def test_status_is_kept_apart_if_the_definition_says_so(
    client: Client, subresources: Any, created: Any, generation: int
) -> None:
    """Otherwise it is a field like any other: it can be created, and a change of it counts as a generation."""
    client.ask("POST", _DEFINITIONS, _definition(subresources=subresources))
    lamp = client.ask("POST", _LAMPS, _lamp(status={"on": True}))
    assert lamp.get("status") == created
    changed = client.ask("PUT", f"{_LAMPS}/l", {**lamp, "status": {"on": False}})
    assert changed["metadata"]["generation"] == generation


def test_status_is_written_through_its_own_path(client: Client) -> None:
    """The rest of the object does not change."""
    client.ask("POST", _DEFINITIONS, _definition(subresources={"status": {}}))
    lamp = client.ask("POST", _LAMPS, _lamp(spec={"colour": "red"}))
    sent = {**lamp, "spec": {"colour": "blue"}, "status": {"on": True}}
    sent["metadata"] = {**lamp["metadata"], "labels": {"a": "b"}}
    answer = client.ask("PUT", f"{_LAMPS}/l/status", sent)
    assert (answer["spec"], answer["status"]) == ({"colour": "red"}, {"on": True})
    assert "labels" not in answer["metadata"]


def test_columns_are_those_of_the_definition(client: Client) -> None:
    """Cells whose value has another type than the column are empty."""
    columns = [
        {"name": "Colour", "type": "string", "jsonPath": ".spec.colour"},
        {"name": "N", "type": "integer", "jsonPath": ".spec.n", "priority": 1},
        {"name": "Missing", "type": "string", "jsonPath": ".spec.nothing"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    client.ask("POST", _DEFINITIONS, _definition(additionalPrinterColumns=columns))
    client.ask("POST", _LAMPS, _lamp(spec={"colour": "red", "n": 3}))
    table = client.ask("GET", _LAMPS, accept=_TABLE)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Colour", "N", "Missing", "Age"]
    assert table["rows"][0]["cells"] == ["l", "red", 3, None, "0s"]


def test_selectable_fields_select(client: Client) -> None:
    """Others are refused."""
    client.ask("POST", _DEFINITIONS, _definition(selectableFields=[{"jsonPath": ".spec.colour"}]))
    for name, colour in (("a", "red"), ("b", "green")):
        client.ask("POST", _LAMPS, _lamp(name, spec={"colour": colour}))
    red = client.ask("GET", _LAMPS, query={"fieldSelector": ["spec.colour=red"]})
    assert [each["metadata"]["name"] for each in red["items"]] == ["a"]
    refused = client.ask("GET", _LAMPS, query={"fieldSelector": ["spec.n=1"]})
    assert refused["message"] == "field label not supported: spec.n"


def test_a_new_version_is_served_at_once(client: Client) -> None:
    """Both versions show the same objects."""
    client.ask("POST", _DEFINITIONS, _definition())
    client.ask("POST", _LAMPS, _lamp(spec={"colour": "red"}))
    definition = client.ask("GET", f"{_DEFINITIONS}/lamps.example.com")
    old = definition["spec"]["versions"][0]
    definition["spec"]["versions"] = [{**old, "storage": False}, {**old, "name": "v2"}]
    updated = client.ask("PUT", f"{_DEFINITIONS}/lamps.example.com", definition)
    assert updated["status"]["storedVersions"] == ["v1", "v2"]
    found = client.ask("GET", _LAMPS.replace("v1", "v2") + "/l")
    assert (found["apiVersion"], found["spec"]) == ("example.com/v2", {"colour": "red"})


def test_names_of_an_established_definition_stay(client: Client) -> None:
    """Objects are stored under them."""
    client.ask("POST", _DEFINITIONS, _definition())
    definition = client.ask("GET", f"{_DEFINITIONS}/lamps.example.com")
    definition["spec"]["names"]["kind"] = "Light"
    refused = client.ask("PUT", f"{_DEFINITIONS}/lamps.example.com", definition)
    assert [cause["field"] for cause in refused["details"]["causes"]] == ["spec.names.kind"]


def test_rules_in_cel_are_evaluated(client: Client) -> None:
    """They are accepted without a warning, and what breaks them is refused."""
    definition = _definition()
    spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["x-kubernetes-validations"] = [{"rule": "!has(self.n) || self.n > 1"}]
    response = client.raw("POST", _DEFINITIONS, definition)
    assert (response.status, response.warnings) == (201, ())
    refused = client.ask("POST", _LAMPS, {**_lamp(), "spec": {"n": 1}})
    assert [cause["message"] for cause in refused["details"]["causes"]] == [
        "Invalid value: failed rule: !has(self.n) || self.n > 1"
    ]


def test_deleting_a_definition_deletes_its_objects(client: Client) -> None:
    """The response shows the definition being terminated; then nothing of it is left."""
    client.ask("POST", _DEFINITIONS, _definition())
    client.ask("POST", _LAMPS, _lamp())
    answer = client.ask("DELETE", f"{_DEFINITIONS}/lamps.example.com")
    assert answer["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert _conditions(answer)["Terminating"] == "True"
    assert client.raw("GET", f"{_DEFINITIONS}/lamps.example.com").status == 404
    assert client.raw("GET", _LAMPS).status == 404
    assert client.raw("GET", "/apis/example.com").status == 404
    client.ask("POST", _DEFINITIONS, _definition())
    assert client.ask("GET", _LAMPS)["items"] == []


def test_finalizers_of_objects_hold_the_definition(client: Client) -> None:
    """It is deleted with the last of its objects."""
    client.ask("POST", _DEFINITIONS, _definition())
    lamp = _lamp()
    lamp["metadata"]["finalizers"] = ["example.com/hold"]
    client.ask("POST", _LAMPS, lamp)
    client.ask("DELETE", f"{_DEFINITIONS}/lamps.example.com")
    assert client.raw("GET", f"{_DEFINITIONS}/lamps.example.com").status == 200
    patch = {"metadata": {"finalizers": None}}
    client.ask("PATCH", f"{_LAMPS}/l", patch, content_type="application/merge-patch+json")
    assert client.raw("GET", f"{_DEFINITIONS}/lamps.example.com").status == 404


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (
            {"kind": "Lamp"},
            400,
            "the API version in the data () does not match the expected API version (example.com/v1)",
        ),
        (
            {"apiVersion": "v1", "kind": "Pod"},
            400,
            "the API version in the data (v1) does not match the expected API version (example.com/v1)",
        ),
        (
            {"apiVersion": "example.com/v1", "kind": "Light"},
            422,
            'Light.example.com "" is invalid: kind: Invalid value: "Light": must be Lamp',
        ),
        (
            _lamp("a") | {"metadata": {"name": 5}},
            400,
            'Lamp in version "v1" cannot be handled as a Lamp: '
            "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
        ),
    ],
    ids=["no version", "another version", "another kind", "metadata of a wrong type"],
)
def test_bodies_that_are_something_else(client: Client, body: Any, status: int, message: str) -> None:
    """The messages are kube-apiserver's."""
    client.ask("POST", _DEFINITIONS, _definition())
    response = client.raw("POST", _LAMPS, body)
    assert (response.status, json.loads(response.body)["message"]) == (status, message)


def test_scale_reads_and_writes_where_the_definition_says(client: Client) -> None:
    """`kubectl scale` and autoscalers work on custom resources."""
    paths = {
        "specReplicasPath": ".spec.n",
        "statusReplicasPath": ".status.n",
        "labelSelectorPath": ".status.selector",
    }
    definition = _definition(subresources={"status": {}, "scale": paths})
    properties = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    properties["status"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    client.ask("POST", _DEFINITIONS, definition)
    client.ask("POST", _LAMPS, _lamp(spec={"n": 2}))
    status = {"status": {"n": 1, "selector": "a=b"}}
    client.ask("PATCH", f"{_LAMPS}/l/status", status, content_type="application/merge-patch+json")
    scale = client.ask("GET", f"{_LAMPS}/l/scale")
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale",
        {"replicas": 2},
        {"replicas": 1, "selector": "a=b"},
    )
    changed = client.ask("PUT", f"{_LAMPS}/l/scale", {**scale, "spec": {"replicas": 5}})
    assert changed["spec"] == {"replicas": 5}
    assert client.ask("GET", f"{_LAMPS}/l")["spec"] == {"n": 5}


def test_scale_without_replicas_is_an_error(client: Client) -> None:
    """There is nothing to read; writing sets them."""
    paths = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    client.ask("POST", _DEFINITIONS, _definition(subresources={"scale": paths}))
    client.ask("POST", _LAMPS, _lamp())
    answer = client.ask("GET", f"{_LAMPS}/l/scale")
    assert (answer["code"], answer["message"]) == (
        500,
        'Internal error occurred: the spec replicas field ".spec.n" does not exist',
    )
    patch = {"spec": {"replicas": 3}}
    client.ask("PATCH", f"{_LAMPS}/l/scale", patch, content_type="application/merge-patch+json")
    assert client.ask("GET", f"{_LAMPS}/l")["spec"] == {"n": 3}


def test_patterns_are_those_of_re2(client: Client) -> None:
    """Python's `re` refuses flags inside an expression, which Kueue's definitions have."""
    definition = _definition()
    properties = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    properties["level"] = {"type": "string", "pattern": "^(low|(?i)high)$"}
    client.ask("POST", _DEFINITIONS, definition)
    for number, (level, expected) in enumerate([("HIGH", 201), ("low", 201), ("LOW", 422)]):
        response = client.raw("POST", _LAMPS, _lamp(f"l{number}", level=level))
        assert response.status == expected, response.body
    assert b"should match '^(low|(?i)high)$'" in response.body
