"""An anonymous snapshot: no name of the cluster is left, and every decision is the same."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.explain.applied import LOADED, REGISTRY, cluster_of

from bayplan import config
from bayplan.clock import SystemClock
from bayplan.config import Loaded
from bayplan.conformance.recorded_cluster import KINDS as RECORDED_KINDS
from bayplan.explain.cluster_objects import ClusterObjects, new_cluster_core
from bayplan.explain.object_files import read_snapshot
from bayplan.explain.snapshots.anonymizing import anonymized
from bayplan.explain.snapshots.captured_fields import captured
from bayplan.explain.snapshots.renaming import Renaming
from bayplan.explain.snapshots.snapshot_writing import make_snapshot
from bayplan.explain.what_if_scheduler import WhatIfScheduler
from bayplan.model import KINDS, KubeObject, Node, Pod
from bayplan.model.volume_sources import QuantityText

GOLDEN = Path(__file__).parents[3] / "parity" / "golden"
#: Every so many of the recorded clusters is looked at; 1 for all of them, which takes minutes.
STRIDE = int(os.environ.get("BAYPLAN_ANONYMIZING_STRIDE", "30"))
#: The configuration is the user's own and is not renamed, so it must not name labels or extended resources.
OWN_NAMES = ("topologyKey", "addedAffinity", "metadataKey", "matchExpressions", "example.com/")


def _lines(name: str) -> list[dict[str, Any]]:
    with gzip.open(GOLDEN / name) as file:
        lines = [json.loads(line) for number, line in enumerate(file) if number % STRIDE == 0]
    return [line for line in lines if "steps" in line and "nodes" in line]


def _objects(line: dict[str, Any]) -> list[KubeObject]:
    found = [kind.from_dict(each) for key, kind in RECORDED_KINDS.items() for each in line.get(key, ())]
    found += [Node.from_dict(each) for each in line["nodes"]]
    return found + [Pod.from_dict(each) for each in line["bound"]]


def _waiting(line: dict[str, Any]) -> list[Pod]:
    return [Pod.from_dict(step["pod"]) for step in line["steps"] if "pod" in step]


def _loaded(line: dict[str, Any]) -> Loaded:
    text = json.dumps(line["config"])
    return config.load(text, source="config", catalogue=REGISTRY) if not _has_own_names(text) else LOADED


def _has_own_names(text: str) -> bool:
    return any(word in text for word in OWN_NAMES)


@pytest.mark.parametrize("recording", ["decisions-v1.37.1", "claims-v1.37.1", "family-v0.34.7"])
def test_decisions_are_the_same(recording: str) -> None:
    """On recorded clusters with every kind of rule: the same nodes are feasible, with the same scores."""
    n_decisions = 0
    for line in _lines(f"{recording}.jsonl.gz"):
        pods = {pod.key: pod for pod in _waiting(line)}
        values = [*_objects(line), *pods.values()]
        items = [each for value in values if (each := captured(value)) is not None]
        renamed, renaming = anonymized(items)
        loaded = _loaded(line)
        cores = [_scheduler(cluster_of(values), loaded), _scheduler(_cluster(renamed), loaded)]
        for pod in pods.values():
            if pod.spec.scheduler_name not in cores[0].profiles:
                continue
            other = cores[1].core.pods.get(_new_key(pod, renaming)) or _find(renamed, pod, renaming)
            with cores[0].without(pod), cores[1].without(other):
                _compare(cores, pod, other, renaming)
            n_decisions += 1
    assert n_decisions > 10


def _compare(cores: list[WhatIfScheduler], pod: Pod, other: Pod, renaming: Renaming) -> None:
    nodes = renaming.names("node")
    before, after = cores[0].decide(pod), cores[1].decide(other)
    assert [nodes[name] for name in cores[0].feasible_nodes(pod)] == cores[1].feasible_nodes(other)
    assert before.status.code == after.status.code
    assert (before.node_name and nodes[before.node_name]) == after.node_name
    if before.scores is not None and after.scores is not None:
        assert before.scores.totals.tolist() == after.scores.totals.tolist()


def _new_key(pod: Pod, renaming: Renaming) -> str:
    return f"{renaming('namespace', pod.namespace)}/{renaming('pod', pod.name)}"


def _find(renamed: list[dict[str, Any]], pod: Pod, renaming: Renaming) -> Pod:
    key = _new_key(pod, renaming)
    return next(each for each in _cluster(renamed).pods.values() if each.key == key)


def _cluster(items: list[dict[str, Any]]) -> ClusterObjects:
    objects = ClusterObjects("snapshot", "test")
    for each in items:
        objects.add_mapping(each)
    return objects


def _scheduler(objects: ClusterObjects, loaded: Loaded) -> WhatIfScheduler:
    return WhatIfScheduler(new_cluster_core(objects, loaded, REGISTRY, SystemClock()))


# --- nothing is left ----------------------------------------------------------------------------------------

#: Paths (kind.field.…) whose text stays: words that programs give a meaning, amounts, times.
KEPT = frozenset(
    [
        "accessModes",
        "action",
        "allocationMode",
        "allocationTimestamp",
        "apiGroup",
        "apiVersion",
        "attacher",
        "bindingConditions",
        "bindingFailureConditions",
        "cachingMode",
        "controller",
        "counterSet",
        "creationTimestamp",
        "declaredFeatures",
        "deletionTimestamp",
        "effect",
        "expression",
        "fsType",
        "kind",
        "lastTransitionTime",
        "matchAttribute",
        "distinctAttribute",
        "maxUnavailable",
        "minAvailable",
        "maximumVolumeSize",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "operator",
        "phase",
        "persistentVolumeReclaimPolicy",
        "preemptionPolicy",
        "protocol",
        "provisioner",
        "pullPolicy",
        "qosClass",
        "reason",
        "reclaimPolicy",
        "request",
        "requestName",
        "requests",
        "resize",
        "resource",
        "restartPolicy",
        "restartPolicyRules",
        "scheduleStartTime",
        "schedulerName",
        "source",
        "startTime",
        "status",
        "unhealthyPodEvictionPolicy",
        "version",
        "volumeBindingMode",
        "volumeMode",
        "whenUnsatisfiable",
        "driver",
        "timeAdded",
        "fieldPath",
        "shareID",
        "type",
        "string",
        "strings",
        "versions",
        "value",
        "step",
        "default",
        "validValues",
        "min",
        "max",
        "capacity",
        "counters",
        "attributes",
        "consumedCapacity",
        "consumesCounters",
        "sharedCounters",
        "selectors",
        "disruptedPods",
        "matchFields",
    ]
)


def _filled(kind: type, path: str, depth: int = 0) -> Any:
    """A value of *kind* with a text of its own in every field."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if depth > 12:
            return {}
        return {
            field.encode_name: _filled(field.type, f"{path}.{field.encode_name}", depth + 1)
            for field in msgspec.structs.fields(kind)
        }
    origin: Any = getattr(kind, "__origin__", None)
    arguments: tuple[Any, ...] = getattr(kind, "__args__", ())
    if origin is tuple:
        return [_filled(arguments[0], path, depth)]
    if origin is dict:
        # The values of amounts are quantities, not texts.
        value = _filled(arguments[1], path, depth) if arguments[1] != QuantityText else "1"
        return {f"leak/{path}.key".lower(): value}
    if arguments:  # a union
        chosen = next((each for each in arguments if each is not type(None)), str)
        return _filled(chosen, path, depth)
    return {str: f"leak/{path}".lower(), int: 1, bool: True, float: 1.0}.get(kind, {})


def _leaks(part: Any, path: tuple[str, ...]) -> list[str]:
    if isinstance(part, dict):
        found = [f"{'.'.join(path)} key" for key in part if "leak/" in key and path[-1] not in KEPT]
        return found + [each for key, value in part.items() for each in _leaks(value, (*path, key))]
    if isinstance(part, list):
        return [each for value in part for each in _leaks(value, path)]
    is_kept = path[-1] in KEPT or not KEPT.isdisjoint(path[2:-1])
    return [".".join(path)] if isinstance(part, str) and "leak/" in part and not is_kept else []


@pytest.mark.parametrize("kind", [each.type for each in KINDS.values()], ids=lambda kind: kind.KIND)
def test_no_text_of_any_field_is_left(kind: type[KubeObject]) -> None:
    """Every field that the model has is renamed, dropped, or listed above with those that are kept."""
    mapping = {"apiVersion": kind.API_VERSION, "kind": kind.KIND, **_filled(kind, kind.KIND)}
    kept = captured(kind.from_dict(mapping))
    if kept is None or kind.KIND == "ConfigMap":
        return
    (renamed,), _ = anonymized([kept])

    allowed = {"CSINode.spec.drivers.name", "CSIDriver.metadata.name", "Pod.spec.os.name"}
    allowed |= {f"{each}.spec.devices.requests.name" for each in ("ResourceClaim", "ResourceClaimTemplate.spec")}
    allowed |= {f"{each}.spec.devices.requests.firstAvailable.name" for each in ("ResourceClaim",)}
    allowed |= {f"ResourceClaimTemplate.spec.spec.devices.requests{each}.name" for each in ("", ".firstAvailable")}
    assert sorted(set(_leaks(renamed, (kind.KIND,))) - allowed) == []


def test_an_anonymous_snapshot_is_read_back() -> None:
    """Annotations, commands and environment are gone; well-known labels stay."""
    pod = {
        "metadata": {
            "name": "payroll-0",
            "namespace": "acme",
            "uid": "u-1",
            "annotations": {"acme.com/token": "hunter2"},
            "labels": {"app": "payroll"},
            "ownerReferences": [{"apiVersion": "acme.com/v1", "kind": "AcmeSet", "name": "payroll", "uid": "o"}],
        },
        "spec": {
            "nodeName": "acme-node",
            "containers": [
                {
                    "name": "payroll",
                    "image": "registry.acme.com/payroll",
                    "command": ["payroll", "--secret"],
                    "env": [{"name": "PASSWORD", "value": "hunter2"}],
                    "resources": {"requests": {"cpu": "1", "acme.com/widget": "1"}},
                }
            ],
        },
    }
    node = {"metadata": {"name": "acme-node", "labels": {"kubernetes.io/hostname": "acme-node", "acme": "yes"}}}
    objects = cluster_of([Pod.from_dict(pod), Node.from_dict(node)])

    for form in ("yaml", "json"):
        text = make_snapshot(objects, anonymous=True).text(form)

        assert not [word for word in ("acme", "payroll", "hunter2", "Acme", "PASSWORD") if word in text]
        back = read_snapshot({"snapshot": text})
        assert list(back.pods) == ["namespace-1/pod-1"]
        assert back.pods["namespace-1/pod-1"].node_name == "node-1"
        assert back.nodes["node-1"].labels == {"kubernetes.io/hostname": "node-1", "label-1": "value-2"}
