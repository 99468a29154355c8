"""Objects: decoding, names, the original, and what happens to malformed ones."""

import json
from typing import Any

import pytest

from bayplan.model import (
    Container,
    Lease,
    LeaseSpec,
    Node,
    ObjectError,
    ObjectMeta,
    Pod,
    PodSpec,
    Volume,
)

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop", "uid": "u1", "labels": {"app": "web"}},
    "spec": {"nodeName": "n1", "unheardOf": [1, 2], "containers": [{"name": "c", "image": "nginx"}]},
    "status": {"podIP": "10.0.0.7", "hostIP": "10.0.0.1"},
}


def test_fields_are_typed() -> None:
    """JSON names become Python names; initialisms of Go are known; unknown fields are ignored."""
    pod = Pod.from_json(json.dumps(POD).encode())

    assert (pod.name, pod.namespace, pod.uid, pod.labels) == ("web", "shop", "u1", {"app": "web"})
    assert pod.node_name == "n1"
    assert pod.spec.containers[0].image == "nginx"
    assert (pod.status.pod_ip, pod.status.host_ip) == ("10.0.0.7", "10.0.0.1")


def test_missing_fields_are_zero() -> None:
    """What is not there has Go's zero value."""
    pod = Pod.from_json(b"{}")

    assert (pod.name, pod.labels, pod.spec.containers, pod.spec.priority) == ("", {}, (), None)
    assert (pod.priority, pod.preemption_policy, pod.is_terminating) == (0, "PreemptLowerPriority", False)


def test_keys_name_objects() -> None:
    """namespace/name, or the name alone for what belongs to the cluster."""
    assert Pod.from_dict(POD).key == "shop/web"
    assert Node.from_dict({"metadata": {"name": "n1"}}).key == "n1"


def test_original_is_kept() -> None:
    """`raw` is the whole object, whether it came as bytes or as a mapping."""
    assert Pod.from_json(json.dumps(POD).encode()).raw == POD
    assert Pod.from_dict(POD).raw == POD
    assert Pod.from_dict(POD).whole is POD


def test_object_built_here_is_its_own_original() -> None:
    """An object made in Python has its typed fields as the original, with kind and apiVersion."""
    lease = Lease(metadata=ObjectMeta(name="x"), spec=LeaseSpec(holder_identity="me"))

    assert lease.raw == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "x"},
        "spec": {"holderIdentity": "me"},
    }


def test_objects_are_immutable_values() -> None:
    """Equal fields make equal objects with equal hashes; nothing can be assigned."""
    first, second = Pod.from_dict(POD), Pod.from_json(json.dumps(POD).encode())

    assert first == second
    assert hash(first) == hash(second)
    with pytest.raises(AttributeError):
        first.spec.node_name = "n2"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(
            b'{"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [{"name": 5}]}}',
            "Pod ns/p: spec.containers[0].name: Expected `str`, got `int`",
            id="wrong type",
        ),
        pytest.param(
            b'{"metadata": {"name": "p"}, "spec": {"priority": "high", "nodeName": null}}',
            "Pod p: spec.priority: Expected `int | null`, got `str`",
            id="wrong type beside a null",
        ),
        pytest.param(b'{"metadata": 7}', "Pod: metadata: Expected `object`, got `int`", id="no name to be had"),
        pytest.param(b'{"metadata": {"name": 5}}', "Pod: metadata.name: Expected `str`, got `int`", id="odd name"),
        pytest.param(b"[]", "Pod: Expected `object`, got `array`", id="not an object"),
    ],
)
def test_malformed_objects_are_named(data: bytes, text: str) -> None:
    """The error says which object, where in it, and what is wrong."""
    with pytest.raises(ObjectError) as raised:
        Pod.from_json(data)

    assert str(raised.value) == text


def test_invalid_json_is_an_object_error() -> None:
    """Bytes that are not JSON are refused in the same way."""
    with pytest.raises(ObjectError, match="Pod: not valid JSON"):
        Pod.from_json(b'{"metadata": {')


def test_controller_is_the_owner_that_controls() -> None:
    """Of several owners the one marked as controller is the controller."""
    owners = [{"kind": "A", "uid": "1"}, {"kind": "ReplicaSet", "uid": "2", "controller": True}]
    pod = Pod.from_dict({"metadata": {"ownerReferences": owners}})

    assert pod.controller is not None
    assert pod.controller.kind == "ReplicaSet"
    assert Pod().controller is None


def test_structs_can_be_built() -> None:
    """Specs are built with keywords, for tests and tools."""
    spec = PodSpec(containers=(Container(name="c"),), volumes=(Volume(name="v"),))

    assert Pod(metadata=ObjectMeta(name="p"), spec=spec).to_dict() == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c"}], "volumes": [{"name": "v"}]},
    }
