"""Decoding errors, unknown fields, and the canonical form of values."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.codec import Codec, Codecs, duplicate_fields, unrecognized

_CODECS = Codecs()
_REGEX = "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@pytest.fixture(name="pods")
def _pods() -> Codec:
    return _CODECS.of_kind("v1", "Pod")


def _pod(**container: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", **container}]}}


def _refusal(codec: Codec, value: object) -> str:
    with pytest.raises(StatusError) as refused:
        codec.decode(value)
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")
    return refused.value.message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(
            {"spec": {"priority": "high"}},
            "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32",
            id="text for a number",
        ),
        pytest.param(
            {"spec": {"priority": 3000000000}},
            "json: cannot unmarshal number 3000000000 into Go struct field PodSpec.spec.priority of type int32",
            id="a number too large",
        ),
        pytest.param(
            {"spec": {"containers": "x"}},
            "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container",
            id="text for a list",
        ),
        pytest.param(
            {"spec": {"nodeSelector": {"a": 1}}},
            "json: cannot unmarshal number into Go struct field PodSpec.spec.nodeSelector of type string",
            id="a number in a map of texts",
        ),
        pytest.param(
            _pod(ports=[{"containerPort": "a"}]),
            "json: cannot unmarshal string into Go struct field "
            "ContainerPort.spec.containers.ports.containerPort of type int32",
            id="deep inside",
        ),
        pytest.param(
            _pod(resources={"requests": {"cpu": "lots"}}),
            f"quantities must match the regular expression {_REGEX}",
            id="no quantity",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "x"}},
            'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
            id="no time",
        ),
    ],
)
def test_values_of_wrong_types(pods: Codec, value: object, message: str) -> None:
    """The messages are kube-apiserver's."""
    assert _refusal(pods, value) == f'Pod in version "v1" cannot be handled as a Pod: {message}'


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(
            {"apiVersion": "v1", "kind": "Node"},
            'Node in version "v1" cannot be handled as a Deployment: '
            "converting (v1.Node) to (apps.Deployment): unknown conversion",
            id="another kind",
        ),
        pytest.param(
            {"apiVersion": "apps/v7", "kind": "Deployment"},
            'Deployment in version "v7" cannot be handled as a Deployment: no kind "Deployment" is registered '
            'for version "apps/v7" in scheme "pkg/runtime/scheme.go:111"',
            id="a version that does not exist",
        ),
        pytest.param(
            {"kind": 1},
            "the object provided is unrecognized (must be of type Deployment): couldn't get version/kind; "
            "json parse error: json: cannot unmarshal number into Go struct field .kind of type string "
            '({"kind":1})',
            id="a kind that is no text",
        ),
    ],
)
def test_objects_of_other_kinds(value: object, message: str) -> None:
    """The kind of the body must be that of the path."""
    assert _refusal(_CODECS.of_kind("apps/v1", "Deployment"), value) == message


def test_lists_are_not_objects(pods: Codec) -> None:
    """Bodies that do not look like JSON objects are quoted in hexadecimal."""
    assert _refusal(pods, [1, 2]).endswith("(5b312c325d)")


def test_kind_may_be_left_out(pods: Codec) -> None:
    """The path determines it."""
    decoded = pods.decode({"metadata": {"name": "p"}})
    assert (decoded.obj["kind"], decoded.obj["apiVersion"]) == ("Pod", "v1")


def test_unknown_fields_are_named_by_place(pods: Codec) -> None:
    """In the order of the body; they are dropped from the object."""
    decoded = pods.decode(
        {"spec": {"containers": [{"name": "c", "imge": "y"}], "nodeselector": {}}, "foo": None},
        collect_unknown=True,
    )
    places = ["spec.containers[0].imge", "spec.nodeselector", "foo"]
    assert decoded.unknown == [f'unknown field "{place}"' for place in places]
    assert decoded.obj["spec"] == {"containers": [{"name": "c", "resources": {}}]}


def test_strict_error_lists_all(pods: Codec) -> None:
    """One error for all unknown and duplicate fields."""
    error = pods.strict_error(['unknown field "a"', 'duplicate field "b"'])
    expected = 'strict decoding error: unknown field "a", duplicate field "b"'
    assert error.message == f'Pod in version "v1" cannot be handled as a Pod: {expected}'


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        (0.5, "500m"),
        (2, "2"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1e3", "1e3"),
        (None, "0"),
    ],
)
def test_quantities_are_canonical(pods: Codec, given: object, canonical: str) -> None:
    """Equal quantities have the same text."""
    container = pods.decode(_pod(resources={"limits": {"memory": given}})).obj["spec"]["containers"][0]
    assert container["resources"]["limits"] == {"memory": canonical}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00.9Z", "2026-01-01T00:00:00Z"),
        ("0999-01-01T00:00:00Z", "0999-01-01T00:00:00Z"),
    ],
    ids=["another zone", "fractions", "long ago"],
)
def test_times_are_in_utc(pods: Codec, given: str, expected: str) -> None:
    """metav1.Time has whole seconds."""
    assert pods.decode({"metadata": {"creationTimestamp": given}}).obj["metadata"] == {
        "creationTimestamp": expected
    }


def test_the_zero_time_is_none(pods: Codec) -> None:
    """Go writes it as null, and omits it in creationTimestamp."""
    zero = "0001-01-01T00:00:00Z"
    obj = pods.decode({"metadata": {"creationTimestamp": zero}, "status": {"startTime": zero}}).obj
    assert (obj["metadata"], obj["status"]) == ({}, {"startTime": None})


@pytest.mark.parametrize("time", ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123Z"])
def test_micro_times_have_six_digits(time: str) -> None:
    """Leases written with fewer are refused."""
    message = _refusal(_CODECS.of_kind("coordination.k8s.io/v1", "Lease"), {"spec": {"renewTime": time}})
    assert "2006-01-02T15:04:05.000000Z07:00" in message


@pytest.mark.parametrize(
    ("body", "places"),
    [
        (b'{"metadata":{"name":"d","name":"e"}}', ["metadata.name"]),
        (b'{"spec":{"containers":[{"a":1},{"b":1,"b":2,"b":3}]}}', ["spec.containers[1].b"]),
        (b'{"a":{"x":1},"a":{"x":1,"x":2}}', ["a", "a.x"]),
        (b'{ "a": 1, "b": {"a": 1} }\n', []),
        (b'{"a":1}\n', []),
    ],
    ids=["in an object", "in a list, thrice", "nested", "spaces", "a line end"],
)
def test_duplicate_fields_are_named(body: bytes, places: list[str]) -> None:
    """Each once, with its path."""
    found = duplicate_fields(body, msgspec.json.decode(body))
    assert found == [f'duplicate field "{place}"' for place in places]


@pytest.mark.parametrize(
    ("body", "summary"),
    [
        (b"", "<empty>"),
        (b"{not json", "{not json"),
        (b"hello", "68656c6c6f"),
        (b"{" + b"x" * 40, "{" + "x" * 29 + " ..."),
    ],
    ids=["nothing", "an object", "something else", "a long one"],
)
def test_what_cannot_be_read_is_quoted(body: bytes, summary: str) -> None:
    """Objects as text, other bodies in hexadecimal, at most thirty bytes."""
    message = unrecognized("Pod", "why", body).message
    assert message == f"the object provided is unrecognized (must be of type Pod): why ({summary})"
