"""A protobuf body decodes to the value that the same body has in JSON."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.direct_client import CONFIG_MAPS, DirectClient

from bayplan.apiserver import protobuf
from bayplan.model.wire_format import fields_of, signed

PROTOBUF = "application/vnd.kubernetes.protobuf"
#: What `kubectl create configmap a --from-literal=x=1` of 1.36 sends.
CONFIG_MAP = bytes.fromhex(
    "6b3873000a0f0a0276311209436f6e6669674d6170121b0a110a016112001a0022002a0032003800420012060a01781201311a002200"
)


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(**fields: Any) -> bytes:
    """Fields by number (`f1`, `f2`, …); a list is a repeated field."""
    encoded = b""
    for name, value in fields.items():
        for each in value if isinstance(value, list) else [value]:
            encoded += field(int(name[1:]), each)
    return encoded


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    return b"k8s\x00" + message(f1=message(f1=api_version, f2=kind), f2=raw)


def test_what_kubectl_sends() -> None:
    decoded = protobuf.decode(CONFIG_MAP)

    assert (decoded["kind"], decoded["apiVersion"], decoded["data"]) == ("ConfigMap", "v1", {"x": "1"})
    assert decoded["metadata"]["name"] == "a"


def test_a_request_in_protobuf_is_served() -> None:
    """What Go writes for unset fields (empty strings, a zero time) is dropped."""
    status, made = DirectClient().request("POST", CONFIG_MAPS, CONFIG_MAP, content_type=PROTOBUF)

    assert status == 201
    assert set(made["metadata"]) == {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}
    assert made["data"] == {"x": "1"}


def test_types_with_a_form_of_their_own() -> None:
    """Times, quantities, int-or-strings, maps, inlined structs and lists, in one pod."""
    quantity = message(f1="cpu", f2=message(f1="100m"))
    probe = message(f1=message(f2=message(f1="/healthz", f2=message(f1=1, f2=0, f3="http"))), f3=5)
    container = message(f1="c", f2="x", f3=["run", "it"], f8=message(f2=quantity), f10=probe)
    toleration = message(f1="key", f5=-1)
    spec = message(f2=container, f22=toleration)
    metadata = message(f1="p", f8=message(f1=1_700_000_000), f11=message(f1="app", f2="web"))

    pod = protobuf.decode(body("v1", "Pod", message(f1=metadata, f2=spec)))

    assert pod["metadata"] == {"name": "p", "creationTimestamp": "2023-11-14T22:13:20Z", "labels": {"app": "web"}}
    assert pod["spec"]["containers"] == [
        {
            "name": "c",
            "image": "x",
            "command": ["run", "it"],
            "resources": {"requests": {"cpu": "100m"}},
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "timeoutSeconds": 5},
        }
    ]
    assert pod["spec"]["tolerations"] == [{"key": "key", "tolerationSeconds": -1}]


def test_a_message_in_pieces_is_merged() -> None:
    """What is appended to a body changes what was said before: lists grow, texts are replaced."""
    pieces = field(1, message(f1="a", f6="7", f14="first")) + field(1, message(f6="8", f14="second"))

    decoded = protobuf.decode(body("v1", "ConfigMap", pieces))

    assert decoded["metadata"] == {"name": "a", "resourceVersion": "8", "finalizers": ["first", "second"]}


def test_fields_of_a_newer_client_are_left_out() -> None:
    decoded = protobuf.decode(body("v1", "ConfigMap", message(f1=message(f1="a"), f99="new")))

    assert decoded == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b'{"kind":"ConfigMap"}', id="JSON"),
        pytest.param(CONFIG_MAP[:-5], id="cut off"),
        pytest.param(body("example.com/v1", "Lamp", b""), id="a kind that has no protobuf"),
        pytest.param(body("v1", "ConfigMap", b"\x0b"), id="a wire type that is none"),
        pytest.param(body("v1", "ConfigMap", field(1, 7)), id="a number for a message"),
        pytest.param(body("v1", "ConfigMap", b"\xff" * 11), id="an endless number"),
    ],
)
def test_what_is_no_such_body_is_refused(data: bytes) -> None:
    status, answer = DirectClient().request("POST", CONFIG_MAPS, data, content_type=PROTOBUF)

    assert (status, answer["reason"]) == (400, "BadRequest")


@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Nothing but WireFormatError comes out of garbage."""
    with contextlib.suppress(protobuf.WireFormatError):
        protobuf.decode(body("v1", "Pod", data))


@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_numbers_survive(numbers: list[int]) -> None:
    encoded = b"".join(field(i + 1, number) for i, number in enumerate(numbers))
    decoded = [signed(value) for _, value in fields_of(encoded) if isinstance(value, int)]

    assert decoded == numbers


def test_a_custom_resource_definition_decodes_with_its_schema() -> None:
    """Schemas have alternatives without names, and raw JSON."""
    names = message(f1="widgets", f2="widget", f4="Widget")
    flag = message(f5="boolean", f8=message(f1=b"false"))
    array = message(f5="array", f24=message(f1=message(f5="string", f20=[message(f1=b'"a"'), message(f1=b'"b"')])))
    free = message(f5="object", f30=message(f1=1))
    typed = message(f5="object", f30=message(f1=1, f2=message(f5="integer")))
    properties = {"flag": flag, "array": array, "free": free, "typed": typed}
    entries = [message(f1=name, f2=each) for name, each in properties.items()]
    schema = message(f1=message(f5="object", f29=entries))
    version = message(f1="v1", f2=1, f3=1, f4=schema)
    spec = message(f1="example.com", f3=names, f4="Namespaced", f7=version)
    raw = message(f1=message(f1="widgets.example.com"), f2=spec)
    decoded = protobuf.decode(body("apiextensions.k8s.io/v1", "CustomResourceDefinition", raw))
    (found,) = decoded["spec"]["versions"]
    assert found["schema"]["openAPIV3Schema"]["properties"] == {
        "flag": {"type": "boolean", "default": False},
        "array": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        "free": {"type": "object", "additionalProperties": True},
        "typed": {"type": "object", "additionalProperties": {"type": "integer"}},
    }


def test_every_served_kind_can_be_decoded() -> None:
    client = DirectClient()
    for resource in client.server.table:
        decoded = protobuf.decode(body(resource.api_version, resource.kind, b""))
        assert (decoded["apiVersion"], decoded["kind"]) == (resource.api_version, resource.kind)
