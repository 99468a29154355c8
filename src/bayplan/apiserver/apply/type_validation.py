"""Type errors of a configuration, in the words of structured-merge-diff."""

from __future__ import annotations

from typing import Any

from bayplan.apiserver.apply.fields import path_text
from bayplan.apiserver.apply.typed import element_name, is_atomic
from bayplan.apiserver.patches.go_values import go_type, go_value
from bayplan.apiserver.schema.schema_node import SchemaNode


def findings(value: Any, schema: SchemaNode, path: str = "", *, allow_duplicates: bool = False) -> list[str]:
    """One line for each error, with its path."""
    if value is None:
        return []
    match schema.kind:
        case "object":
            if not isinstance(value, dict):
                return [f"{path}: expected map, got {_shown(value)}"]
        case "array":
            if not isinstance(value, list):
                return [f"{path}: expected list, got {_shown(value)}"]
        case "":
            pass
        case kind:
            return _scalar_findings(value, kind, path)
    if isinstance(value, dict):
        return _member_findings(value, schema, path, allow_duplicates)
    return _element_findings(value, schema, path, allow_duplicates) if isinstance(value, list) else []


def _member_findings(value: dict[str, Any], schema: SchemaNode, path: str, allow_duplicates: bool) -> list[str]:
    found: list[str] = []
    for key, member in value.items():
        child = schema.child(key)
        if child is None:
            return [*found, f"{path}.{key}: field not declared in schema"]
        found += findings(member, child, f"{path}.{key}", allow_duplicates=allow_duplicates)
    return found


def _element_findings(value: list[Any], schema: SchemaNode, path: str, allow_duplicates: bool) -> list[str]:
    found: list[str] = []
    seen = set()
    for i, element in enumerate(value):
        name = f"i:{i}"
        if not is_atomic(value, schema):
            try:
                name = element_name(element, schema)
            except ValueError as error:
                return [*found, f"{path}: element {i}: {error}"]
            if name in seen and not allow_duplicates:
                found.append(f"{path}: duplicate entries for key {path_text((name,))}")
            seen.add(name)
        field_path = f"{path}{path_text((name,))}"
        found += findings(element, schema.item(), field_path, allow_duplicates=allow_duplicates)
    return found


def _scalar_findings(value: Any, kind: str, path: str) -> list[str]:
    match kind:
        case "integer" | "number":
            if isinstance(value, bool) or not isinstance(value, int | float):
                return [f"{path}: expected numeric (int or float), got {go_type(value)}"]
        case "string":
            if not isinstance(value, str):
                return [f"{path}: expected string, got &value.valueUnstructured{{Value:{_shown(value)}}}"]
        case "boolean":
            if not isinstance(value, bool):
                return [f"{path}: expected boolean, got &{{{go_value(value)}}}"]
        case _:
            if isinstance(value, dict | list):
                return [f"{path}: expected any scalar, got &{{{go_value(value)}}}"]
    return []


def _shown(value: Any) -> str:
    return f"&{{{go_value(value)}}}" if isinstance(value, dict | list) else go_value(value)
