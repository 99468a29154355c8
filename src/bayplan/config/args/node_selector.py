"""Node selectors in plugin arguments, and their validation."""

from __future__ import annotations

import re

from bayplan.config.api_object import ApiObject
from bayplan.config.field_path import Path
from bayplan.config.name_rules import label_key_faults, label_value_faults
from bayplan.config.problems import FieldError, join_or

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")
_INTEGER = re.compile(r"[-+]?[0-9]+")


class AddedNodeSelectorRequirement(ApiObject):
    OMIT_EMPTY = frozenset({"values"})

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class AddedNodeSelectorTerm(ApiObject):
    OMIT_EMPTY = frozenset({"match_expressions", "match_fields"})

    match_expressions: tuple[AddedNodeSelectorRequirement, ...] = ()
    match_fields: tuple[AddedNodeSelectorRequirement, ...] = ()


class AddedNodeSelector(ApiObject):
    #: None prints as null, as it does in Go.
    node_selector_terms: tuple[AddedNodeSelectorTerm, ...] | None = None


def selector_errors(selector: AddedNodeSelector, path: Path) -> list[FieldError]:
    errors = []
    for i, term in enumerate(selector.node_selector_terms or ()):
        where = path / "nodeSelectorTerms" / i
        errors += term_errors(term, where, upstream=where)
    return errors


def term_errors(term: AddedNodeSelectorTerm, path: Path, *, upstream: Path) -> list[FieldError]:
    """Errors of a term at `path`; `upstream` is the path that kube-scheduler gives for the same term."""
    errors = []
    for i, requirement in enumerate(term.match_expressions):
        for steps, message, key in _expression_faults(requirement):
            errors.append(_error(path, upstream, ("matchExpressions", i, *steps), message, key))
    for i, requirement in enumerate(term.match_fields):
        for steps, message, key in _field_faults(requirement):
            errors.append(_error(path, upstream, ("matchFields", i, *steps), message, key))
    return errors


_Fault = tuple[tuple[str | int, ...], str, str]


def _error(path: Path, upstream: Path, steps: tuple[str | int, ...], message: str, key: str) -> FieldError:
    own = Path((*path, *steps))
    named = str(Path((*upstream, *steps))) + (f"[{key}]" if key else "")
    return FieldError(own, message, upstream_path="" if named == str(own) else named)


def _expression_faults(requirement: AddedNodeSelectorRequirement) -> list[_Fault]:
    operator, values = requirement.operator, requirement.values
    if operator not in OPERATORS:
        return [(("operator",), f'"{operator}" is not an operator; possible are {join_or(OPERATORS)}', "")]
    faults: list[_Fault] = [(("key",), fault, "") for fault in label_key_faults(requirement.key)]
    if operator in ("In", "NotIn") and not values:
        faults.append((("values",), f"{operator} needs at least one value", ""))
    elif operator in ("Exists", "DoesNotExist") and values:
        faults.append((("values",), f"{operator} takes no values", ""))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            faults.append((("values",), f"{operator} takes exactly one value, not {len(values)}", ""))
        for i, value in enumerate(values):
            if not (_INTEGER.fullmatch(value) and -(2**63) <= int(value) < 2**63):
                faults.append((("values", i), f'"{value}" must be an integer for {operator}', ""))
    for i, value in enumerate(values):
        faults += [(("values", i), fault, requirement.key) for fault in label_value_faults(value)]
    return faults


def _field_faults(requirement: AddedNodeSelectorRequirement) -> list[_Fault]:
    if requirement.operator not in FIELD_OPERATORS:
        possible = join_or(FIELD_OPERATORS)
        message = f'"{requirement.operator}" is not an operator for fields; possible are {possible}'
        return [(("operator",), message, "")]
    if len(requirement.values) != 1:
        return [(("values",), "exactly one value is needed", "")]
    return []
