"""Validation and matching of label selectors, validation of node selectors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.validation.field_errors import each, forbidden, invalid, required
from bayplan.apiserver.validation.metadata_validation import label_causes
from bayplan.apiserver.validation.name_validation import (
    label_value_errors,
    qualified_name_errors,
    subdomain_errors,
)

#: Fields of nodes that a node selector may use.
NODE_FIELDS = ("metadata.name",)


def selector_causes(selector: Mapping[str, Any] | None, path: str) -> Iterator[StatusCause]:
    """Errors of a LabelSelector; a missing one is valid."""
    if not selector:
        return
    yield from label_causes(selector.get("matchLabels", {}), f"{path}.matchLabels")
    for i, expression in enumerate(selector.get("matchExpressions", ())):
        yield from _expression_causes(expression, f"{path}.matchExpressions[{i}]")


def _expression_causes(expression: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    operator, values = expression.get("operator", ""), expression.get("values", ())
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden(f"{path}.values", text)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    yield from each(f"{path}.key", expression.get("key", ""), qualified_name_errors(expression.get("key", "")))
    for i, value in enumerate(values):
        yield from each(f"{path}.values[{i}]", value, label_value_errors(value))


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether labels match a LabelSelector."""
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    return all(_meets(expression, labels) for expression in selector.get("matchExpressions", ()))


def _meets(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression.get("key", "")), expression.get("values", ())
    match expression.get("operator"):
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A LabelSelector as a query: `app=web,tier in (a,b),!old`."""
    if not selector:
        return ""
    parts = [(key, f"{key}={value}") for key, value in selector.get("matchLabels", {}).items()]
    parts += [(e.get("key", ""), _expression_text(e)) for e in selector.get("matchExpressions", ())]
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0]))


def _expression_text(expression: Mapping[str, Any]) -> str:
    key, values = expression.get("key", ""), ",".join(sorted(expression.get("values", ())))
    match expression.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
    return str(key)


def node_selector_causes(
    selector: Mapping[str, Any], path: str, *, any_value: bool = False
) -> Iterator[StatusCause]:
    """Errors of a NodeSelector; `any_value` accepts values that no label can have."""
    terms = selector.get("nodeSelectorTerms") or []
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for i, term in enumerate(terms):
        yield from node_selector_term_causes(term, f"{path}.nodeSelectorTerms[{i}]", any_value=any_value)


def node_selector_term_causes(term: Mapping[str, Any], path: str, *, any_value: bool) -> Iterator[StatusCause]:
    for i, requirement in enumerate(term.get("matchExpressions", ())):
        yield from _node_expression_causes(requirement, f"{path}.matchExpressions[{i}]", any_value)
    for i, requirement in enumerate(term.get("matchFields", ())):
        yield from _node_field_causes(requirement, f"{path}.matchFields[{i}]")


def _node_expression_causes(requirement: Mapping[str, Any], path: str, any_value: bool) -> Iterator[StatusCause]:
    operator, values = requirement.get("operator", ""), requirement.get("values", ())
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden(f"{path}.values", text)
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield required(f"{path}.values", text)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    yield from each(f"{path}.key", requirement.get("key", ""), qualified_name_errors(requirement.get("key", "")))
    if not any_value:
        for i, value in enumerate(values):
            yield from each(f"{path}.values[{i}]", value, label_value_errors(value))


def _node_field_causes(requirement: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    operator, values = requirement.get("operator", ""), requirement.get("values", ())
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", text)
    if requirement.get("key", "") not in NODE_FIELDS:
        yield invalid(f"{path}.key", requirement.get("key", ""), "not a valid field selector key")
        return
    for i, value in enumerate(values):
        yield from each(f"{path}.values[{i}]", value, subdomain_errors(value))


_SUBDOMAIN_WITH_UNDERSCORES = re.compile(r"[a-z0-9_]([-_a-z0-9]*[a-z0-9])?(\.[a-z0-9_]([-_a-z0-9]*[a-z0-9])?)*")


def search_path_errors(name: str) -> list[str]:
    """Errors of a DNS search path: a subdomain that may have underscores."""
    if len(name.encode()) <= 253 and _SUBDOMAIN_WITH_UNDERSCORES.fullmatch(name):
        return []
    return [
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-', '_' or '.', "
        "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        r"'[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')"
    ]
