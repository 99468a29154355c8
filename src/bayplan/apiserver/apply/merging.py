"""Merges a configuration into the live object, and removes fields from an object."""

from __future__ import annotations

from collections import deque
from typing import Any

from bayplan.apiserver.apply.fields import FieldSet, below, is_member
from bayplan.apiserver.apply.typed import ABSENT, by_name, child_of, element_name, is_atomic, only, sides
from bayplan.apiserver.schema.schema_node import SchemaNode


def merge(live: Any, config: Any, schema: SchemaNode) -> Any:
    """`live` with everything that `config` sets; nothing is removed."""
    if config is ABSENT:
        return live
    left, right = sides(live, config)
    if not (left or right) or is_atomic(left, schema) or not isinstance(config, type(left) | None):
        return config
    if isinstance(left, list):
        return _merged_elements(left, right, schema)
    return {
        key: merge(left.get(key, ABSENT), right.get(key, ABSENT), child_of(schema, key)) for key in left | right
    }


def _merged_elements(live: list[Any], config: list[Any], schema: SchemaNode) -> list[Any]:
    """Elements of both in the order of `config`; those only in `live` keep their place."""
    item = schema.item()
    mine, others = by_name(live, schema), {name: found[0] for name, found in by_name(config, schema).items()}
    result: list[Any] = []
    for name, position in _merged_order([element_name(e, schema) for e in live], list(others)):
        if name in others:
            result.append(merge(only(mine.get(name, [])), others[name], item))
        else:
            result.append(live[position])
    return result


def _merged_order(live: list[str], config: list[str]) -> list[tuple[str, int]]:
    """Names of elements in order, with the position in `live` of those that are taken from there."""
    result: list[tuple[str, int]] = []
    in_live, in_config = set(live), set(config)
    #: Elements of both that are not placed yet, in the order of `config`.
    shared = deque(name for name in config if name in in_live)
    placed: set[str] = set()
    i = j = 0
    while i < len(live) or j < len(config):
        mine = live[i] if i < len(live) else None
        if j < len(config) and mine in in_config and mine != config[j] and shared and mine != shared[0]:
            i += 1  # placed where `config` has it
            continue
        if mine is not None and mine not in in_config:
            result.append((mine, i))
            i += 1
            continue
        if mine in placed or (j < len(config) and mine == config[j]):
            i += 1
        if j < len(config):
            result.append((config[j], -1))
            placed.add(config[j])
            if shared and shared[0] == config[j]:
                shared.popleft()
            j += 1
    return result


def remove(value: Any, fields: FieldSet, schema: SchemaNode) -> Any:
    """The value without the fields; null where an object or a list loses everything."""
    if not isinstance(value, dict | list):
        return value
    if is_atomic(value, schema):
        return None
    if isinstance(value, list):
        return _remove_elements(value, fields, schema) or None
    left = {}
    for key, member in value.items():
        found = fields.get(f"f:{key}")
        if found is None:
            left[key] = member
        elif not is_member(found):
            left[key] = remove(member, found, child_of(schema, key))
    return left or None


def _remove_elements(value: list[Any], fields: FieldSet, schema: SchemaNode) -> list[Any]:
    left = []
    for element in value:
        found = fields.get(element_name(element, schema))
        if found is None:
            left.append(element)
        elif not is_member(found):
            left.append(remove(element, found, schema.item()))
    return left


def with_structs(fields: FieldSet, schema: SchemaNode | None) -> FieldSet:
    """The set with every struct above its fields: the owner of a field keeps its struct."""
    result: FieldSet = {}
    for element, node in fields.items():
        if element == ".":
            result[element] = node
            continue
        inner = with_structs(below(node), _schema_at(schema, element))
        is_struct = element.startswith("f:") and schema is not None and schema.declares(element[2:])
        result[element] = {".": {}, **inner} if inner and (is_struct or is_member(node)) else inner
    return result


def _schema_at(schema: SchemaNode | None, element: str) -> SchemaNode | None:
    if schema is None:
        return None
    if element.startswith("f:"):
        return schema.child(element[2:])
    return schema.item() if element.startswith("k:") else None
