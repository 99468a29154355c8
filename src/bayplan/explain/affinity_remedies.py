"""Remedies that relax where a pod wants to be: selectors, affinity, spreading. One obstacle in, edits out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from bayplan.explain.remedy import POD, Edit, Remedy, Site, joined
from bayplan.model import Pod, compile_node_selector

DROP_SELECTOR: Final = 45.0
RELAX_SPREAD: Final = 45.0
DROP_AFFINITY: Final = 50.0

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"

# --- node selector and node affinity ----------------------------------------------------------------------


def dropping_selector(pod: Pod, site: Site) -> Iterator[Remedy]:
    """Without the terms of nodeSelector and required node affinity that the node does not match."""
    labels = site.node.labels
    keys = [key for key, value in pod.spec.node_selector.items() if labels.get(key) != value]
    edits: list[Edit] = []
    texts = [f"nodeSelector {key}={pod.spec.node_selector[key]}" for key in keys]
    if keys:
        edits.append(partial(_drop_node_selector, keys=keys))
    if not matches_required(pod, site):
        dropped = min(_failing_terms(pod, site), key=lambda each: len(each[1]), default=None)
        if dropped is not None and dropped[1]:
            edits.append(partial(_drop_expressions, term=dropped[0], expressions=dropped[1]))
            texts += [f"node affinity {text}" for _, _, text in dropped[1]]
    if edits:
        yield Remedy(
            f"drop {joined(texts)}",
            DROP_SELECTOR + 5.0 * (len(texts) - 1),
            POD,
            edit_pod=partial(_edit_all, edits=edits),
            key=f"drop {sorted(texts)}",
        )


def dropping_node_affinity(pod: Pod) -> Iterator[Remedy]:
    """Without required node affinity at all."""
    affinity = pod.spec.affinity
    if affinity is not None and affinity.node_affinity is not None and affinity.node_affinity.required is not None:
        yield Remedy(
            "drop the required node affinity", DROP_SELECTOR + 10.0, POD, edit_pod=_drop_required_node_affinity,
            key="drop node affinity",
        )  # fmt: skip


def matches_required(pod: Pod, site: Site) -> bool:
    """Whether the node matches the required node affinity, nodeSelector apart."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    if affinity is None or affinity.required is None:
        return True
    return compile_node_selector(affinity.required).matches(site.node)


def failing_expressions(pod: Pod, site: Site) -> list[Mapping[str, Any]]:
    """The expressions that the node would have to match by labels, of the term that needs the fewest; empty if
    labels cannot do it."""
    by_labels = [
        (number, failing)
        for number, failing in _failing_terms(pod, site)
        if all(field == "matchExpressions" for field, _, _ in failing)
    ]
    if not by_labels:
        return []
    number, failing = min(by_labels, key=lambda each: len(each[1]))
    return [_raw_terms(pod.raw["spec"])[number]["matchExpressions"][position] for _, position, _ in failing]


def _failing_terms(pod: Pod, site: Site) -> Iterator[tuple[int, list[tuple[str, int, str]]]]:
    """(number of the term, its expressions that the node does not match: list, position, text)."""
    for number, term in enumerate(_raw_terms(pod.raw["spec"])):
        failing = []
        for field in ("matchExpressions", "matchFields"):
            for position, expression in enumerate(term.get(field) or ()):
                if not _matches_one(field, expression, site):
                    failing.append((field, position, _expression_text(expression)))
        yield number, failing


def _raw_terms(spec: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get(_REQUIRED) or {}
    return required.get("nodeSelectorTerms") or ()


def _matches_one(field: str, expression: Mapping[str, Any], site: Site) -> bool:
    probe = Pod.from_dict({"spec": {"affinity": _only(field, expression)}})
    return matches_required(probe, site)


def _only(field: str, expression: Mapping[str, Any]) -> dict[str, Any]:
    terms = [{field: [expression]}]
    return {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}}


def _expression_text(expression: Mapping[str, Any]) -> str:
    operator, values = expression.get("operator", ""), expression.get("values") or []
    text = f"{expression.get('key', '')} {operator}"
    return f"{text} ({', '.join(map(str, values))})" if values else text


def _drop_node_selector(manifest: dict[str, Any], keys: Sequence[str]) -> None:
    selector = {key: value for key, value in manifest["spec"]["nodeSelector"].items() if key not in keys}
    if selector:
        manifest["spec"]["nodeSelector"] = selector
    else:
        del manifest["spec"]["nodeSelector"]


def _drop_expressions(manifest: dict[str, Any], term: int, expressions: Sequence[tuple[str, int, str]]) -> None:
    """A term without any expression matches nothing, so then the whole requirement goes."""
    dropped = {(field, position) for field, position, _ in expressions}
    terms = [dict(each) for each in _raw_terms(manifest["spec"])]
    edited = terms[term]
    for field in ("matchExpressions", "matchFields"):
        left = [each for i, each in enumerate(edited.get(field) or ()) if (field, i) not in dropped]
        edited.pop(field, None)
        if left:
            edited[field] = left
    if not edited:
        _drop_required_node_affinity(manifest)
        return
    affinity = manifest["spec"]["affinity"]["nodeAffinity"]
    affinity[_REQUIRED]["nodeSelectorTerms"] = terms


def _drop_required_node_affinity(manifest: dict[str, Any]) -> None:
    _drop_affinity_field(manifest["spec"], "nodeAffinity")


def _drop_affinity_field(spec: dict[str, Any], kind: str) -> None:
    """Without the required terms of *kind*; empty parents go as well."""
    spec["affinity"][kind].pop(_REQUIRED, None)
    if not spec["affinity"][kind]:
        del spec["affinity"][kind]
    if not spec["affinity"]:
        del spec["affinity"]


# --- pod affinity and spreading ---------------------------------------------------------------------------


def dropping_terms(pod: Pod, kind: str) -> Iterator[Remedy]:
    """Without one of the required terms of `podAffinity` or `podAntiAffinity`, and without all of them."""
    terms = _pod_terms(pod.raw["spec"], kind)
    name = "pod affinity" if kind == "podAffinity" else "pod anti-affinity"
    for number, term in enumerate(terms if len(terms) > 1 else ()):
        yield Remedy(
            f"drop the {name} term {number + 1} ({_term_text(term)})",
            DROP_AFFINITY,
            POD,
            edit_pod=partial(_drop_term, kind=kind, number=number),
            key=f"{kind} {number}",
        )
    if terms:
        which = f" ({_term_text(terms[0])})" if len(terms) == 1 else f" (all {len(terms)} terms)"
        yield Remedy(
            f"drop the required {name}{which}",
            DROP_AFFINITY + 5.0 * (len(terms) - 1),
            POD,
            edit_pod=partial(_drop_all_terms, kind=kind),
            key=kind,
        )


def _pod_terms(spec: Mapping[str, Any], kind: str) -> Sequence[Mapping[str, Any]]:
    affinity = (spec.get("affinity") or {}).get(kind) or {}
    return affinity.get(_REQUIRED) or ()


def _term_text(term: Mapping[str, Any]) -> str:
    return f"by {term.get('topologyKey', '')}"


def _drop_term(manifest: dict[str, Any], kind: str, number: int) -> None:
    affinity = manifest["spec"]["affinity"][kind]
    terms = affinity[_REQUIRED]
    affinity[_REQUIRED] = [each for position, each in enumerate(terms) if position != number]


def _drop_all_terms(manifest: dict[str, Any], kind: str) -> None:
    _drop_affinity_field(manifest["spec"], kind)


def dropping_labels(pod: Pod, keys: Sequence[str]) -> Iterator[Remedy]:
    """Without labels by which other pods keep this one away."""
    dropped = sorted(key for key in keys if key in pod.labels)
    if dropped:
        yield Remedy(
            f"drop the label{'s' if len(dropped) > 1 else ''} {joined(dropped)} of the pod",
            DROP_AFFINITY + 10.0,
            POD,
            edit_pod=partial(_drop_labels, keys=dropped),
            key=f"labels {dropped}",
        )


def _drop_labels(manifest: dict[str, Any], keys: Sequence[str]) -> None:
    labels = manifest["metadata"]["labels"]
    manifest["metadata"]["labels"] = {key: value for key, value in labels.items() if key not in keys}


def relaxing_spread(pod: Pod) -> Iterator[Remedy]:
    """A wider skew for one constraint, or constraints that are only preferences."""
    constraints = [
        (number, each)
        for number, each in enumerate(pod.raw["spec"].get("topologySpreadConstraints") or ())
        if each.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
    ]
    for number, constraint in constraints:
        key, skew = constraint.get("topologyKey", ""), int(constraint.get("maxSkew", 1))
        for wider in (skew + 1, skew + 2, skew + 5):
            yield Remedy(
                f"allow a maxSkew of {wider} over {key} instead of {skew}",
                RELAX_SPREAD - 5.0 + 2.0 * (wider - skew),
                POD,
                edit_pod=partial(_set_constraint, numbers=[number], field="maxSkew", value=wider),
                key=f"skew {number}",
            )
    for numbers in ([number for number, _ in constraints], *([number] for number, _ in constraints)):
        keys = [each.get("topologyKey", "") for number, each in constraints if number in numbers]
        yield Remedy(
            f"make spreading over {joined(keys)} a preference (ScheduleAnyway)",
            RELAX_SPREAD + 8.0 + 5.0 * (len(numbers) - 1),
            POD,
            edit_pod=partial(_set_constraint, numbers=numbers, field="whenUnsatisfiable", value="ScheduleAnyway"),
            key=f"spread {numbers}",
        )


def _set_constraint(manifest: dict[str, Any], numbers: Sequence[int], field: str, value: Any) -> None:
    constraints = [dict(each) for each in manifest["spec"]["topologySpreadConstraints"]]
    for number in numbers:
        constraints[number][field] = value
        if value == "ScheduleAnyway":
            # Allowed with DoNotSchedule only.
            constraints[number].pop("minDomains", None)
    manifest["spec"]["topologySpreadConstraints"] = constraints


def _edit_all(manifest: dict[str, Any], edits: Sequence[Edit]) -> None:
    for edit in edits:
        edit(manifest)
