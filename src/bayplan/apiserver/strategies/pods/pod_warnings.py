"""Warnings about a pod or pod template that is valid but probably not intended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.strategies.pods.pod_defaults import DEPRECATED_NODE_LABELS
from bayplan.apiserver.strategies.volume_claim_validation import claim_warnings
from bayplan.model.quantity import Quantity

Found = Iterator[str]
_DEPRECATED_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
DEPRECATED_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_SELECTOR = "a null labelSelector results in matching no pod"
_BYTES = ("memory", "ephemeral-storage")


def pod_warnings(pod: Mapping[str, Any], path: str = "") -> list[str]:
    """`path` is the path of the pod: empty, or `spec.template`."""
    prefix = f"{path}." if path else ""
    spec: Mapping[str, Any] = pod.get("spec", {})
    annotations = pod.get("metadata", {}).get("annotations", {})
    found = [*_node_label_warnings(spec, f"{prefix}spec"), *_spread_warnings(spec, f"{prefix}spec")]
    for key, text in _DEPRECATED_ANNOTATIONS.items():
        if key in annotations:
            found.append(f"{prefix}metadata.annotations[{key}]: {text}")
    found += _volume_warnings(spec, f"{prefix}spec")
    found += _repeat_warnings(spec, f"{prefix}spec")
    for container, field_path in _containers(spec, f"{prefix}spec"):
        found += _container_warnings(container, field_path)
    found += _port_warnings(spec, f"{prefix}spec")
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        found.append(f"{prefix}spec.terminationGracePeriodSeconds: {text}")
    found += _affinity_warnings(spec, f"{prefix}spec.affinity")
    return found


def _containers(spec: Mapping[str, Any], path: str) -> Iterator[tuple[Object, str]]:
    for key in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in enumerate(spec.get(key) or ()):
            yield container, f"{path}.{key}[{i}]"


def _node_label_warnings(spec: Mapping[str, Any], path: str) -> Found:
    for key in spec.get("nodeSelector", {}):
        if key in DEPRECATED_NODE_LABELS:
            yield f"{path}.nodeSelector[{key}]: {DEPRECATED_NODE_LABELS[key]}"
    affinity, field_path = spec.get("affinity", {}).get("nodeAffinity", {}), f"{path}.affinity.nodeAffinity"
    for i, term in enumerate(affinity.get(_REQUIRED, {}).get("nodeSelectorTerms") or ()):
        yield from term_warnings(term, f"{field_path}.{_REQUIRED}.nodeSelectorTerms[{i}]")
    for i, weighted in enumerate(affinity.get(_PREFERRED, ())):
        yield from term_warnings(weighted.get("preference", {}), f"{field_path}.{_PREFERRED}[{i}].preference")


def term_warnings(term: Mapping[str, Any], path: str) -> Found:
    for i, expression in enumerate(term.get("matchExpressions", ())):
        key = expression.get("key", "")
        if key in DEPRECATED_NODE_LABELS:
            yield f"{path}.matchExpressions[{i}].key: {key} is {DEPRECATED_NODE_LABELS[key]}"


def _spread_warnings(spec: Mapping[str, Any], path: str) -> Found:
    for i, constraint in enumerate(spec.get("topologySpreadConstraints", ())):
        field_path, key = f"{path}.topologySpreadConstraints[{i}]", constraint.get("topologyKey", "")
        if key in DEPRECATED_NODE_LABELS:
            yield f"{field_path}.topologyKey: {key} is {DEPRECATED_NODE_LABELS[key]}"
        if "labelSelector" not in constraint:
            yield f"{field_path}.labelSelector: {_NO_SELECTOR}"


def _volume_warnings(spec: Mapping[str, Any], path: str) -> Found:
    for i, volume in enumerate(spec.get("volumes", ())):
        for kind in volume.keys() & DEPRECATED_VOLUMES.keys():
            name = "storageOS" if kind == "storageos" else kind
            yield f"{path}.volumes[{i}].{name}: {DEPRECATED_VOLUMES[kind]}"
        template = volume.get("ephemeral", {}).get("volumeClaimTemplate", {})
        yield from claim_warnings(
            template.get("spec", {}), f"{path}.volumes[{i}].ephemeral.volumeClaimTemplate.spec"
        )


def _repeat_warnings(spec: Mapping[str, Any], path: str) -> Found:
    for key, field in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[str] = set()
        for i, item in enumerate(spec.get(key) or ()):
            value = item.get(field, "")
            if value in seen:
                yield f'{path}.{key}[{i}].{field}: duplicate {field} "{value}"'
            seen.add(value)
    for i, item in enumerate(spec.get("imagePullSecrets", ())):
        if not item.get("name"):
            yield f'{path}.imagePullSecrets[{i}].name: invalid empty name ""'
    yield from _fraction_warnings(spec.get("overhead", {}), f"{path}.overhead")


def _fraction_warnings(amounts: Mapping[str, str], path: str) -> Found:
    for name in _BYTES:
        if name in amounts and Quantity.parse(amounts[name]).milli_value % 1000:
            yield f'{path}[{name}]: fractional byte value "{amounts[name]}" is invalid, must be an integer'


def _container_warnings(container: Mapping[str, Any], path: str) -> Found:
    resources = container.get("resources", {})
    for name in _BYTES:
        for key in ("limits", "requests"):
            amounts = {name: resources[key][name]} if name in resources.get(key, {}) else {}
            yield from _fraction_warnings(amounts, f"{path}.resources.{key}")
    seen: set[str] = set()
    for i, variable in enumerate(container.get("env", ())):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        if name in seen and ("valueFrom" in variable or value == reference or reference not in value):
            yield f'{path}.env[{i}]: hides previous definition of "{name}", which may be dropped when using apply'
        seen.add(name)


def _port_warnings(spec: Mapping[str, Any], path: str) -> Found:
    known: dict[tuple[int, str], list[tuple[str, Object]]] = {}
    for container, field_path in _containers(spec, path):
        for i, port in enumerate(container.get("ports", ())):
            others = known.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
            for other_path, other in others:
                overlap = _overlap(port, other)
                if overlap:
                    yield f"{field_path}.ports[{i}]: {overlap} port definition with {other_path}"
            others.append((f"{field_path}.ports[{i}]", port))
    yield from _port_name_warnings(spec, path)


def _port_name_warnings(spec: Mapping[str, Any], path: str) -> Found:
    names: dict[str, str] = {}
    for container, field_path in _containers(spec, path):
        for i, port in enumerate(container.get("ports", ())):
            name = port.get("name", "")
            first = names.setdefault(name, f"{field_path}.ports[{i}]")
            if name and first != f"{field_path}.ports[{i}]":
                rest = f"services and probes that select ports by name will use {first}"
                yield f'{field_path}.ports[{i}]: duplicate port name "{name}" with {first}, {rest}'


def _overlap(port: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    ip, other_ip = port.get("hostIP", ""), other.get("hostIP", "")
    number, other_number = port.get("hostPort", 0), other.get("hostPort", 0)
    if ip == other_ip and number == other_number:
        return "duplicate"
    if not number or not other_number:
        return "overlapping"
    if number == other_number and bool(ip) != bool(other_ip):
        return "dangerously ambiguous"
    return ""


def _affinity_warnings(spec: Mapping[str, Any], path: str) -> Found:
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = spec.get("affinity", {}).get(kind, {})
        for i, term in enumerate(affinity.get(_REQUIRED, ())):
            if "labelSelector" not in term:
                yield f"{path}.{kind}.{_REQUIRED}[{i}].labelSelector: {_NO_SELECTOR}"
        for i, weighted in enumerate(affinity.get(_PREFERRED, ())):
            if "labelSelector" not in weighted.get("podAffinityTerm", {}):
                yield f"{path}.{kind}.{_PREFERRED}[{i}].podAffinityTerm.labelSelector: {_NO_SELECTOR}"
