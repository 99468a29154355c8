"""Evaluates the rules of a schema (`x-kubernetes-validations`) about an object, in the words of kube-apiserver.

Rules that mention `oldSelf` are about changes. On an update, a rule about something that did not change is not
held against the object: it may have been written before the rule.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.custom.rule_paths import RulePathError, child_path, normalized
from bayplan.apiserver.schema.schemas import Json
from bayplan.apiserver.validation import field_errors
from bayplan.cel import CelRuntimeError
from bayplan.cel.schemas import CompiledRule, SchemaType, compile_rules, schema_type, schema_value
from bayplan.cel.schemas.field_names import escaped
from bayplan.cel.schemas.schema_rules import CALL_LIMIT
from bayplan.cel.schemas.schema_types import EMBEDDED, child_type, with_object_fields

RULES: Final = "x-kubernetes-validations"
#: The most that all rules about an object may cost.
BUDGET: Final = 10_000_000
_NOWHERE: Final = "<nil>"
_MAX_MESSAGE_BYTES: Final = 5 * 1024
_OUT_OF_BUDGET: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_TOO_COSTLY: Final = "operation cancelled: actual cost limit exceeded"


class _OutOfBudget(Exception):
    """No further rules are evaluated."""


@dataclass(slots=True)
class _Node:
    """The rules at one place of the schema and below it."""

    schema: Json
    rules: list[CompiledRule]
    fields: dict[str, _Node] = field(default_factory=dict)
    element: _Node | None = None
    is_root: bool = False


class RuleSet:
    """All rules of a schema."""

    def __init__(self, schema: Json) -> None:
        self._root = _node(schema, schema_type(schema, is_root=True), is_root=True)

    def __bool__(self) -> bool:
        return self._root is not None

    def causes(self, obj: Json, old: Json | None = None) -> list[StatusCause]:
        """The errors of an object, or of a change to it."""
        if self._root is None:
            return []
        run = _Run()
        with suppress(_OutOfBudget):
            run.visit(self._root, obj, old, "", unchanged=old is not None and obj == old)
        return run.causes


def _node(schema: Json, of: SchemaType | None, *, is_root: bool = False) -> _Node | None:
    """The rules of a schema; None if there are none, or expressions cannot see its values."""
    if of is None:
        return None
    found = _Node(schema, compile_rules(schema.get(RULES) or (), of), is_root=is_root)
    for name, child in (schema.get("properties") or {}).items():
        identifier = escaped(name)
        inner = of.fields.get(identifier) if identifier is not None else child_type(child, "selfType")
        node = _node(child, inner, is_root=bool(child.get(EMBEDDED)))
        if node is not None:
            found.fields[name] = node
    items = schema.get("items") if schema.get("type") == "array" else schema.get("additionalProperties")
    if isinstance(items, dict):
        found.element = _node(items, of.element, is_root=bool(items.get(EMBEDDED)))
    return found if found.rules or found.fields or found.element is not None else None


class _Run:
    """One evaluation."""

    def __init__(self) -> None:
        self.causes: list[StatusCause] = []
        self._budget = BUDGET

    def visit(self, node: _Node, value: Any, old: Any, path: str, *, unchanged: bool) -> None:
        if value is None:
            return
        if node.rules:
            self._evaluate(node, value, old, path, unchanged=unchanged)
        if isinstance(value, list):
            self._visit_list(node, value, old, path, unchanged=unchanged)
        elif isinstance(value, dict):
            self._visit_object(node, value, old if isinstance(old, dict) else {}, path, unchanged=unchanged)

    def _visit_list(self, node: _Node, value: list[Any], old: Any, path: str, *, unchanged: bool) -> None:
        if node.element is None:
            return
        keys = node.schema.get("x-kubernetes-list-map-keys") or ()
        is_map = node.schema.get("x-kubernetes-list-type") == "map" and isinstance(old, list)
        by_key = {_key(each, keys): each for each in old} if is_map else {}
        for i, each in enumerate(value):
            before = by_key.get(_key(each, keys)) if is_map else None
            same = each == before if before is not None else unchanged
            self.visit(node.element, each, before, f"{path}[{i}]", unchanged=same)

    def _visit_object(self, node: _Node, value: Json, old: Json, path: str, *, unchanged: bool) -> None:
        for name, each in value.items():
            inner = node.fields.get(name) or node.element
            if inner is None:
                continue
            where = child_path(path, name) if name in node.fields else f"{path}[{name}]"
            self.visit(
                inner, each, old.get(name), where, unchanged=each == old[name] if name in old else unchanged
            )

    # --- rules of one place -----------------------------------------------------------------------

    def _evaluate(self, node: _Node, value: Any, old: Any, path: str, *, unchanged: bool) -> None:
        if self._budget <= 0:
            self._fail(node, path, _OUT_OF_BUDGET)
        schema = with_object_fields(node.schema) if node.is_root else node.schema
        seen, seen_old = schema_value(schema, value), schema_value(schema, old, value)
        for rule in node.rules:
            if rule.program is None or (rule.uses_old_self and old is None and not rule.has_optional_old_self):
                continue
            variables = rule.variables(seen, seen_old, has_old=old is not None)
            try:
                result, cost = rule.program.evaluate(variables, CALL_LIMIT)
            except CelRuntimeError as error:
                self._spend(node, path, error.cost)
                self._note_error(node, rule, path, str(error))
                continue
            self._spend(node, path, cost)
            if result is not True:
                cause = self._cause(node, rule, value, path, (seen, seen_old))
                if rule.uses_old_self or not unchanged:
                    self.causes.append(cause)

    def _spend(self, node: _Node, path: str, cost: int) -> None:
        if cost > self._budget:
            self._fail(node, path, _OUT_OF_BUDGET)
        self._budget -= cost

    def _fail(self, node: _Node, path: str, text: str) -> None:
        self.causes.append(field_errors.invalid(path or _NOWHERE, node.schema.get("type", ""), text))
        raise _OutOfBudget

    def _note_error(self, node: _Node, rule: CompiledRule, path: str, error: str) -> None:
        kind = node.schema.get("type", "")
        if error.startswith(_TOO_COSTLY):
            why = "no further validation rules will be run due to call cost exceeds limit for rule"
            self._fail(node, path, f"'{error}': {why}: {rule.text}")
        elif error.startswith("no such overload"):
            why = "call arguments did not match a supported operator, function or macro signature for rule"
            text = f"'{error}': {why}: {rule.text}"
        else:
            text = f"{error} evaluating rule: {rule.text}"
        self.causes.append(field_errors.invalid(path or _NOWHERE, kind, text))

    def _cause(self, node: _Node, rule: CompiledRule, value: Any, path: str, variables: Any) -> StatusCause:
        detail = self._message(node, rule, path, variables) or _default_message(rule)
        where = _where(rule, node.schema, path)
        reason = rule.rule.get("reason")
        if reason == "FieldValueForbidden":
            return field_errors.forbidden(where, detail)
        if reason == "FieldValueRequired":
            return field_errors.required(where, detail)
        is_large = node.schema.get("type") in ("object", "array")
        if reason == "FieldValueDuplicate":
            return (
                StatusCause(where, reason, "Duplicate value") if is_large else field_errors.duplicate(where, value)
            )
        if is_large:
            return StatusCause(where, "FieldValueInvalid", f"Invalid value: {detail}")
        return field_errors.invalid(where, value, detail)

    def _message(self, node: _Node, rule: CompiledRule, path: str, variables: Any) -> str:
        """What the message expression says; empty if it says nothing that can be shown."""
        if rule.message is None:
            return ""
        try:
            text, cost = rule.message.evaluate(variables, CALL_LIMIT)
        except CelRuntimeError as error:
            self._spend_on_message(node, path, error.cost)
            if str(error).startswith(_TOO_COSTLY):
                why = (
                    "no further validation rules will be run due to call cost exceeds limit for messageExpression"
                )
                self._fail(node, path, f'{why}: "{rule.rule["messageExpression"]}"')
            return ""
        self._spend_on_message(node, path, cost)
        text = text.strip() if isinstance(text, str) else ""
        return "" if "\n" in text or len(text.encode()) > _MAX_MESSAGE_BYTES else text

    def _spend_on_message(self, node: _Node, path: str, cost: int) -> None:
        if cost > self._budget:
            why = "messageExpression evaluation failed due to running out of cost budget"
            self._fail(node, path, f"{why}, no further validation rules will be run")
        self._budget -= cost


def _where(rule: CompiledRule, schema: Json, path: str) -> str:
    """The field that an error is about."""
    try:
        inner = normalized(rule.rule.get("fieldPath") or "", schema)
    except RulePathError:
        inner = ""
    return child_path(path, inner) if inner else path or _NOWHERE


def _default_message(rule: CompiledRule) -> str:
    message = str(rule.rule.get("message") or "").strip()
    return message or f"failed rule: {rule.text}"


def _key(element: Any, keys: Any) -> tuple[Any, ...]:
    return tuple(element.get(key) for key in keys) if isinstance(element, dict) else ()
