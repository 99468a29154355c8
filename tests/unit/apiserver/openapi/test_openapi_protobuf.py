"""OpenAPI v2 as protobuf says the same as JSON."""

from __future__ import annotations

from typing import Any

from tests.unit.apiserver.direct_client import DirectClient

from bayplan.apiserver.openapi.openapi_protobuf import CONTENT_TYPE
from bayplan.model.wire_format import fields_of

ACCEPT = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def _read(data: bytes) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for number, value in fields_of(data):
        found.setdefault(number, []).append(value)
    return found


def _named(data: bytes) -> dict[str, dict[int, list[Any]]]:
    """The entries of Definitions or Properties."""
    entries = (_read(each) for each in _read(data)[1])
    return {entry[1][0].decode(): _read(entry[2][0]) for entry in entries}


def test_definitions_have_the_same_fields_types_and_extensions_as_in_json() -> None:
    client = DirectClient()
    response = client.response("GET", "/openapi/v2", accept=ACCEPT)
    assert (response.status, response.content_type) == (200, CONTENT_TYPE)
    document = _read(response.body)
    assert document[1] == [b"2.0"]
    definitions = _named(document[9][0])
    _, expected = client.request("GET", "/openapi/v2")
    assert definitions.keys() == expected["definitions"].keys()
    name = "io.k8s.api.core.v1.PodSpec"
    pod, known = definitions[name], expected["definitions"][name]
    assert [each.decode() for each in pod[19]] == known["required"]
    properties = _named(pod[25][0])
    assert properties.keys() == known["properties"].keys()
    containers = properties["containers"]
    assert _read(containers[22][0])[1] == [b"array"]
    item = _read(_read(containers[23][0])[1][0])
    assert item[1][0].decode() == known["properties"]["containers"]["items"]["$ref"]
    extensions = {_read(each)[1][0].decode() for each in containers[31]}
    assert extensions == {key for key in known["properties"]["containers"] if key.startswith("x-")}
