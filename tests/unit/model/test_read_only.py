"""What plugins see cannot be written to; copies of it can."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from bayplan.model import Node, Pod
from bayplan.model.read_only import ReadOnlyDict, ReadOnlyError, ReadOnlyList, read_only
from bayplan.testing import Harness, make_node, make_pod

POD = {
    "metadata": {"name": "p", "labels": {"app": "web"}, "annotations": {"a": "b"}},
    "spec": {
        "nodeSelector": {"disk": "ssd"},
        "overhead": {"cpu": "1m"},
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}, "limits": {}}}],
        "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "1"}}}],
        "affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
                ]
            }
        },
    },
    "status": {
        "containerStatuses": [
            {"name": "c", "allocatedResources": {"cpu": "1"}, "resources": {"limits": {"cpu": "1"}}}
        ]
    },
}
NODE = {
    "metadata": {"name": "n", "labels": {"disk": "ssd"}},
    "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
    "status": {"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"}},
}


def dicts_in(value: Any) -> list[tuple[str, dict[str, Any]]]:
    """Every dict in a struct, with where it is."""
    if isinstance(value, dict):
        return [("", value)]
    if isinstance(value, tuple):
        return [(f"[]{where}", found) for item in value for where, found in dicts_in(item)]
    if isinstance(value, msgspec.Struct):
        fields = type(value).__struct_fields__
        return [(f".{name}{where}", found) for name in fields for where, found in dicts_in(getattr(value, name))]
    return []


@pytest.mark.parametrize("kind_and_value", [(Pod, POD), (Node, NODE)], ids=["pod", "node"])
@pytest.mark.parametrize("way", ["JSON", "mapping", "empty dicts"])
def test_every_dict_of_an_object_is_read_only(kind_and_value: tuple[Any, dict[str, Any]], way: str) -> None:
    """Whatever it was decoded from, and also the empty ones, which are shared by all objects."""
    kind, value = kind_and_value
    if way == "empty dicts":
        value = {"metadata": {"name": "x", "labels": {}, "annotations": {}}, "spec": {"nodeSelector": {}}}
    decoded = kind.from_dict(value) if way == "mapping" else kind.from_json(json.dumps(value).encode())
    found = dicts_in(decoded)
    assert len(found) >= 3
    for where, each in found:
        with pytest.raises(ReadOnlyError):
            each["written"] = "true"
        assert isinstance(each, ReadOnlyDict), where


def test_pods_of_one_template_share_what_is_read_only() -> None:
    first, second = (Pod.from_json(json.dumps(POD).encode()) for _ in range(2))
    assert first.labels is second.labels
    assert first.spec.containers is second.spec.containers


WRITES: dict[str, Callable[[Any], Any]] = {
    "item": lambda raw: raw["metadata"].__setitem__("x", "y"),
    "deleted item": lambda raw: raw["spec"].__delitem__("taints"),
    "update": lambda raw: raw.update(x=1),
    "pop": lambda raw: raw.pop("metadata"),
    "setdefault": lambda raw: raw["metadata"].setdefault("x", "y"),
    "clear": lambda raw: raw["metadata"]["labels"].clear(),
    "append": lambda raw: raw["spec"]["taints"].append(1),
    "list item": lambda raw: raw["spec"]["taints"].__setitem__(0, 1),
    "item in a list": lambda raw: raw["spec"]["taints"][0].__setitem__("key", "b"),
    "sort": lambda raw: raw["spec"]["taints"].sort(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_raw_is_read_only_at_any_depth(write: Callable[[Any], Any]) -> None:
    node = Node.from_json(json.dumps(NODE).encode())
    with pytest.raises(ReadOnlyError, match="belongs to the scheduler"):
        write(node.raw)
    assert node.raw == NODE


def test_copies_can_be_changed() -> None:
    """By every way to copy."""
    frozen = read_only({"a": [{"b": 1}]})
    for made in (dict(frozen), frozen.copy(), copy.copy(frozen), copy.deepcopy(frozen), frozen | {}, {**frozen}):
        made["x"] = 1
        assert type(made) is dict
    deep = copy.deepcopy(frozen)
    deep["a"][0]["b"] = 2
    deep["a"].append(3)
    assert frozen == {"a": [{"b": 1}]}
    assert type(pickle.loads(pickle.dumps(frozen))) is dict  # noqa: S301  of our own
    assert isinstance(frozen["a"], ReadOnlyList)
    assert msgspec.json.encode(frozen) == b'{"a":[{"b":1}]}'


ATTEMPTS: dict[str, Callable[[Any, Any], Any]] = {
    "labels of a node": lambda pod, nodes: nodes[0].labels.__setitem__("x", "y"),
    "annotations of a node": lambda pod, nodes: nodes[0].annotations.__setitem__("x", "y"),
    "raw of a node": lambda pod, nodes: nodes[0].raw["metadata"].__setitem__("x", "y"),
    "allocatable of a node": lambda pod, nodes: nodes[0].allocatable.__setitem__("cpu", 0),
    "allocatable as written": lambda pod, nodes: nodes[0].node.status.allocatable.__setitem__("cpu", "0"),
    "pods of a node": lambda pod, nodes: nodes[0].pods.append(pod),
    "labels of the pod": lambda pod, nodes: pod.labels.pop("app"),
    "requests of the pod": lambda pod, nodes: pod.requests.__setitem__("cpu", 0),
    "requests of a container": lambda pod, nodes: pod.spec.containers[0].resources.requests.update(cpu="0"),
    "field of the pod": lambda pod, nodes: setattr(pod, "spec", None),
    "column of amounts": lambda pod, nodes: nodes.requested("cpu").__setitem__(0, 5),
    "column of names": lambda pod, nodes: nodes.names.__setitem__(0, "x"),
    "rows": lambda pod, nodes: nodes.rows.__setitem__(0, 5),
    "values of a label": lambda pod, nodes: nodes.label("disk").values.append("x"),
    "codes of a label": lambda pod, nodes: nodes.label("disk").codes.__setitem__(0, 5),
    "domains": lambda pod, nodes: nodes.domains("disk").of_node.__setitem__(0, 5),
    "sets of taints": lambda pod, nodes: nodes.taint_sets()[1].append(()),
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_a_plugin_cannot_change_the_cluster(attempt: Callable[[Any, Any], Any]) -> None:
    """Its attempt ends with an error; a pod that looks for what it tried to write does not find it."""
    from bayplan.framework import Plugin

    class Writing(Plugin):
        name = "Writing"

        def pre_filter(self, state: Any, pod: Any, nodes: Any) -> None:
            if pod.name == "p":
                attempt(pod, nodes)

    harness = Harness(nodes=[make_node("a", labels={"disk": "ssd"}), make_node("b")], plugins=[Writing])
    decision = harness.decide(make_pod("p", cpu="1", labels={"app": "web"}))
    assert decision.reason == "SchedulerError"
    assert decision.message.startswith('running PreFilter plugin "Writing": ')
    assert not harness.decide(make_pod("q", spec={"nodeSelector": {"x": "y"}})).node_name
    assert harness.decide(make_pod("r", spec={"nodeSelector": {"disk": "ssd"}})).node_name == "a"
