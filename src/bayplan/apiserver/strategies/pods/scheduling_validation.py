"""Validation of scheduling fields: affinity, tolerations, topology spread, gates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.validation.field_errors import duplicate, each, forbidden, invalid, not_supported, required
from bayplan.apiserver.validation.name_validation import label_errors, label_value_errors, qualified_name_errors
from bayplan.apiserver.validation.selector_validation import (
    node_selector_causes,
    node_selector_term_causes,
    selector_causes,
)

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def affinity_causes(affinity: Mapping[str, Any], path: str, *, any_value: bool = False) -> Iterator[StatusCause]:
    """Errors of affinity; `any_value` accepts values in required node affinity that no label can have."""
    nodes = affinity.get("nodeAffinity", {})
    if _REQUIRED in nodes:
        field_path = f"{path}.nodeAffinity.{_REQUIRED}"
        yield from node_selector_causes(nodes[_REQUIRED], field_path, any_value=any_value)
    for i, term in enumerate(nodes.get(_PREFERRED, ())):
        field_path = f"{path}.nodeAffinity.{_PREFERRED}[{i}]"
        yield from _weight_causes(term, field_path)
        yield from node_selector_term_causes(
            term.get("preference", {}), f"{field_path}.preference", any_value=True
        )
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from _pod_affinity_causes(affinity.get(kind, {}), f"{path}.{kind}")


def _pod_affinity_causes(affinity: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    for i, term in enumerate(affinity.get(_REQUIRED, ())):
        yield from _pod_term_causes(term, f"{path}.{_REQUIRED}[{i}]")
    for i, weighted in enumerate(affinity.get(_PREFERRED, ())):
        field_path = f"{path}.{_PREFERRED}[{i}]"
        yield from _weight_causes(weighted, field_path)
        yield from _pod_term_causes(weighted.get("podAffinityTerm", {}), f"{field_path}.podAffinityTerm")


def _weight_causes(term: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if not 1 <= term.get("weight", 0) <= 100:
        yield invalid(f"{path}.weight", term.get("weight", 0), "must be in the range 1-100")


def _pod_term_causes(term: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    yield from selector_causes(term.get("labelSelector"), f"{path}.labelSelector")
    yield from selector_causes(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in term.get("namespaces", ()):
        yield from each(f"{path}.namespace", name, label_errors(name))
    yield from _label_keys_causes(term, path)
    topology_key = term.get("topologyKey", "")
    if not topology_key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from each(f"{path}.topologyKey", topology_key, qualified_name_errors(topology_key))


def _label_keys_causes(term: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    """Errors of matchLabelKeys and mismatchLabelKeys; keys merged into the selector may be in it once."""
    selector = term.get("labelSelector")
    match_keys, mismatch_keys = term.get("matchLabelKeys", ()), term.get("mismatchLabelKeys", ())
    for name, keys in (("matchLabelKeys", match_keys), ("mismatchLabelKeys", mismatch_keys)):
        if keys and selector is None:
            yield forbidden(f"{path}.{name}", "must not be specified when labelSelector is not set")
            continue
        for i, key in enumerate(keys):
            yield from each(f"{path}.{name}[{i}]", key, qualified_name_errors(key))
    seen = set((selector or {}).get("matchLabels", {}))
    for expression in (selector or {}).get("matchExpressions", ()):
        key = expression.get("key", "")
        if key in match_keys and key in seen:
            field_path = f"{path}[{_last_index(match_keys, key)}]"
            yield invalid(field_path, key, "exists in both matchLabelKeys and labelSelector")
        seen.add(key)
    for i, key in enumerate(match_keys):
        if key in mismatch_keys:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(f"{path}.matchLabelKeys[{i}]", key, text)


def _last_index(values: Sequence[str], value: str) -> int:
    return len(values) - 1 - list(reversed(values)).index(value)


def toleration_causes(tolerations: Iterable[Mapping[str, Any]], path: str) -> Iterator[StatusCause]:
    for i, toleration in enumerate(tolerations):
        yield from _one_toleration_causes(toleration, f"{path}[{i}]")


def _one_toleration_causes(toleration: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    effect = toleration.get("effect", "")
    if key:
        yield from each(f"{path}.key", key, qualified_name_errors(key))
    elif operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", operator, text)
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{path}.effect", effect, text)
    yield from _toleration_value_causes(operator, toleration.get("value", ""), path)
    if effect:
        yield from taint_effect_causes(effect, f"{path}.effect")


def _toleration_value_causes(operator: str, value: str, path: str) -> Iterator[StatusCause]:
    if operator in ("", "Equal"):
        complaints = label_value_errors(value)
        if complaints:
            yield invalid(f"{path}.operator", value, ";".join(complaints))
    elif operator == "Exists":
        if value:
            yield invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("Lt", "Gt"):
        # Alpha, and off by default: comparison operators are known and refused.
        yield not_supported(f"{path}.operator", operator, ("Equal", "Exists", "Lt", "Gt"))
    else:
        yield not_supported(f"{path}.operator", operator, ("Equal", "Exists"))


def taint_effect_causes(effect: str, path: str) -> Iterator[StatusCause]:
    if effect not in TAINT_EFFECTS:
        yield not_supported(path, effect, TAINT_EFFECTS)


def spread_causes(constraints: Sequence[Mapping[str, Any]], path: str) -> Iterator[StatusCause]:
    for i, constraint in enumerate(constraints):
        field_path = f"{path}[{i}]"
        yield from _one_spread_causes(constraint, field_path)
        pair = (constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", ""))
        later = ((c.get("topologyKey", ""), c.get("whenUnsatisfiable", "")) for c in constraints[i + 1 :])
        if pair in later:
            yield duplicate(f"{field_path}.{{topologyKey, whenUnsatisfiable}}", f"{{{pair[0]}, {pair[1]}}}")
        yield from _label_keys_causes(constraint, field_path)
        yield from selector_causes(constraint.get("labelSelector"), f"{field_path}.labelSelector")


def _one_spread_causes(constraint: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    action = constraint.get("whenUnsatisfiable", "")
    yield from _positive_causes(f"{path}.maxSkew", constraint.get("maxSkew", 0))
    if not constraint.get("topologyKey"):
        yield required(f"{path}.topologyKey", "can not be empty")
    if action not in ("DoNotSchedule", "ScheduleAnyway"):
        yield not_supported(f"{path}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
    if "minDomains" in constraint:
        yield from _positive_causes(f"{path}.minDomains", constraint["minDomains"])
        if action != "DoNotSchedule":
            text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield invalid(f"{path}.minDomains", constraint["minDomains"], text)
    for key in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if key in constraint and constraint[key] not in ("Honor", "Ignore"):
            yield not_supported(f"{path}.{key}", constraint[key], ("Honor", "Ignore"))


def _positive_causes(field: str, value: int) -> Iterator[StatusCause]:
    if value <= 0:
        yield invalid(field, value, "must be greater than zero")


def gate_causes(gates: Iterable[Mapping[str, Any]], path: str) -> Iterator[StatusCause]:
    seen = set()
    for i, gate in enumerate(gates):
        name = gate.get("name", "")
        yield from each(f"{path}[{i}]", name, qualified_name_errors(name))
        if name in seen:
            yield duplicate(f"{path}[{i}]", name)
        seen.add(name)


def merge_label_keys(spec: dict[str, Any], labels: Mapping[str, str]) -> None:
    """Turn matchLabelKeys of a new pod into expressions of the selector, as the server does."""
    for constraint in spec.get("topologySpreadConstraints", ()):
        _merge_keys(constraint, labels, "matchLabelKeys", "In")
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = spec.get("affinity", {}).get(kind, {})
        terms = [*affinity.get(_REQUIRED, ())]
        terms += [weighted.get("podAffinityTerm", {}) for weighted in affinity.get(_PREFERRED, ())]
        for term in terms:
            _merge_keys(term, labels, "matchLabelKeys", "In")
            _merge_keys(term, labels, "mismatchLabelKeys", "NotIn")


def _merge_keys(term: dict[str, Any], labels: Mapping[str, str], name: str, operator: str) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for key in term.get(name, ()):
        if key in labels:
            expression = {"key": key, "operator": operator, "values": [labels[key]]}
            selector.setdefault("matchExpressions", []).append(expression)
