"""Validation of the rules in a CustomResourceDefinition: they must compile, and not cost too much."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.custom.rule_evaluation import RULES
from bayplan.apiserver.custom.rule_paths import RulePathError, normalized
from bayplan.apiserver.schema.schemas import Json
from bayplan.apiserver.validation.field_errors import forbidden, invalid, not_supported, required
from bayplan.cel.schemas import CompiledRule, SchemaType, compile_rules, schema_type
from bayplan.cel.schemas.field_names import escaped
from bayplan.cel.schemas.schema_types import child_type

_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
#: The most that a rule, and all rules of a definition, may cost by estimate.
_RULE_LIMIT: Final = 10_000_000
_TOTAL_LIMIT: Final = 100_000_000
_MAX: Final = 2**64 - 1
_N_SHOWN: Final = 4
_ADVICE: Final = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings "
    "are declared"
)


@dataclass(slots=True)
class _TotalCost:
    total: int = 0
    #: Rules that cost a hundredth of the limit or more: (cost, field).
    expensive: list[tuple[int, str]] = field(default_factory=list)

    def add(self, cost: int, where: str) -> None:
        self.total = min(self.total + cost, _MAX)
        if cost >= _TOTAL_LIMIT // 100:
            self.expensive.append((cost, where))
            self.expensive = sorted(self.expensive, key=lambda each: -each[0])[:_N_SHOWN]


@dataclass(frozen=True, slots=True)
class _SchemaPlace:
    """Where a schema is."""

    path: str
    of: SchemaType | None
    total: _TotalCost
    #: How many such values an object can have; None if nothing limits them.
    n_most: int | None = 1
    #: The list around it in which old and new elements cannot be matched; empty if there is none.
    uncorrelatable: str = ""

    def inner(self, schema: Json, path: str, of: SchemaType | None) -> _SchemaPlace:
        """The place of a subschema of *schema*."""
        n_most, limit = self.n_most, _max_elements(schema)
        within = self.uncorrelatable
        if schema.get("type") == "array" and schema.get("x-kubernetes-list-type") != "map":
            within = within or self.path
        times = None if n_most is None or limit is None else min(n_most * limit, _MAX)
        return replace(self, path=path, of=of, n_most=times, uncorrelatable=within)


def rule_text_causes(schema: Json, field_path: str) -> Iterator[StatusCause]:
    """Errors that are seen without compiling, of this schema alone."""
    for i, rule in enumerate(schema.get(RULES) or ()):
        at = f"{field_path}.{RULES}[{i}]"
        yield from _message_causes(rule, at)
        if rule.get("messageExpression") and not rule["messageExpression"].strip():
            yield required(f"{at}.messageExpression", "messageExpression must be non-empty if specified")
        if rule.get("reason") is not None and rule["reason"] not in _REASONS:
            yield not_supported(f"{at}.reason", rule["reason"], _REASONS)
        yield from _path_causes(rule.get("fieldPath") or "", schema, f"{at}.fieldPath")


def _message_causes(rule: Json, at: str) -> Iterator[StatusCause]:
    text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not text:
        yield required(f"{at}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{at}.message", message, "must be non-empty if specified")
    elif re.search(r"[\n\r]", message.strip()):
        yield invalid(f"{at}.message", message, "must not contain line breaks")
    elif re.search(r"[\n\r]", text) and not message.strip():
        yield required(f"{at}.message", "message must be specified if rule contains line breaks")


def _path_causes(path: str, schema: Json, at: str) -> Iterator[StatusCause]:
    if path and not path.strip():
        yield invalid(at, path, "must be non-empty if specified")
    if re.search(r"[\n\r]", path):
        yield invalid(at, path, "must not contain line breaks")
    if path:
        try:
            normalized(path, schema)
        except RulePathError:
            yield invalid(at, path, "must be a valid path")


# --- compiling ------------------------------------------------------------------------------------


def rule_causes(schema: Json, field_path: str) -> Iterator[StatusCause]:
    """Errors of the rules of a schema, in which nothing else is wrong, and of its subschemas."""
    total = _TotalCost()
    yield from _compile_causes(schema, _SchemaPlace(field_path, schema_type(schema, is_root=True), total))
    if total.total > _TOTAL_LIMIT:
        for _, where in total.expensive:
            yield forbidden(
                where, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            )
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield forbidden(field_path, _cost_message(name, total.total, _TOTAL_LIMIT))


def _compile_causes(schema: Json, place: _SchemaPlace) -> Iterator[StatusCause]:
    for inner, where in _inner(schema, place):
        yield from _compile_causes(inner, where)
    rules = schema.get(RULES) or ()
    if not rules:
        return
    if place.of is None:
        why = (
            "failed to construct type information for x-kubernetes-validations rules: "
            "unable to convert structural schema to CEL declarations"
        )
        yield StatusCause(f"{place.path}.{RULES}", "InternalError", f"Internal error: internal error: {why}")
        return
    for i, compiled in enumerate(compile_rules(rules, place.of)):
        yield from _compiled_causes(compiled, f"{place.path}.{RULES}[{i}]", place)


def _inner(schema: Json, place: _SchemaPlace) -> Iterator[tuple[Json, _SchemaPlace]]:
    for name, child in (schema.get("properties") or {}).items():
        identifier = escaped(name)
        known = place.of.fields.get(identifier) if place.of is not None and identifier is not None else None
        of = known if known is not None else child_type(child, "selfType")
        yield child, place.inner(schema, f"{place.path}.properties[{name}]", of)
    for key in ("items", "additionalProperties"):
        child = schema.get(key)
        if isinstance(child, dict):
            of = place.of.element if place.of is not None else child_type(child, "selfType")
            yield child, place.inner(schema, f"{place.path}.{key}", of)


def _compiled_causes(rule: CompiledRule, at: str, place: _SchemaPlace) -> Iterator[StatusCause]:
    assert place.of is not None  # noqa: S101 - rules of other places are not compiled
    n_most = place.n_most if place.n_most is not None else place.of.max_cardinality
    cost = min(rule.max_cost * n_most, _MAX)
    if cost > _RULE_LIMIT:
        yield forbidden(f"{at}.rule", _cost_message("estimated rule cost", cost, _RULE_LIMIT))
    place.total.add(cost, f"{at}.rule")
    if rule.error:
        yield invalid(f"{at}.rule", _shown_rule(rule.rule), rule.error)
    if rule.message_error:
        yield invalid(f"{at}.messageExpression", _shown_rule(rule.rule), rule.message_error)
    elif rule.message is not None:
        if rule.message_max_cost > _RULE_LIMIT:
            text = _cost_message("estimated messageExpression cost", rule.message_max_cost, _RULE_LIMIT)
            yield forbidden(f"{at}.messageExpression", text)
        place.total.add(rule.message_max_cost, f"{at}.messageExpression")
    if rule.uses_old_self and place.uncorrelatable:
        why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelatable}"
        yield invalid(f"{at}.rule", rule.rule["rule"], why)
    elif not rule.uses_old_self and rule.rule.get("optionalOldSelf") is not None:
        optional = rule.rule["optionalOldSelf"]
        yield invalid(f"{at}.optionalOldSelf", optional, "may not be set if oldSelf is not used in rule")


def _shown_rule(rule: Any) -> Json:
    """As kube-apiserver prints a rule: with the names of its Go fields."""
    return {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


def _max_elements(schema: Json) -> int | None:
    """How many values of its subschemas one value of a schema can have; None if nothing limits them."""
    if schema.get("type") == "array":
        limit = schema.get("maxItems")
    elif schema.get("type") == "object" and schema.get("additionalProperties") is not None:
        limit = schema.get("maxProperties")
    else:
        return 1
    return None if limit is None else max(int(limit), 0)


def _cost_message(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {shown} ({_ADVICE})"
