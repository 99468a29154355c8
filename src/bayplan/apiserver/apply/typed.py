"""Values with their schema: which fields they have, and what changed between two.

A value may be absent, which is not the same as null: `ABSENT`. Objects and lists that the schema calls atomic are
one field. Elements of other lists have names (`fields`), which identify an element wherever it is in the list.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from bayplan.apiserver.apply.fields import FieldSet, Path, insert, key_element, node, value_element
from bayplan.apiserver.schema.schema_node import SchemaNode

ABSENT: Final[Any] = msgspec.UNSET


class Comparison(msgspec.Struct):
    """The difference of two values; no field is in two of the sets."""

    removed: FieldSet = {}
    modified: FieldSet = {}
    added: FieldSet = {}


def element_name(element: Any, schema: SchemaNode) -> str:
    """The path element of a list element; raises ValueError if it has none."""
    if schema.list_type == "set":
        return _name_by_value(element)
    if element is None:
        raise ValueError("associative list with keys may not have a null element")
    if not isinstance(element, dict):
        raise ValueError("associative list with keys may not have non-map elements")
    keys = {key: element[key] if key in element else _default(schema, key) for key in schema.list_map_keys}
    keys = {key: value for key, value in keys.items() if value is not ABSENT}
    if not keys:
        shown = " ".join(f'"{key}"' for key in schema.list_map_keys)
        what = "associative list with keys has an element that omits all key fields"
        raise ValueError(f"{what} [{shown}] (and doesn't have default values for any key fields)")
    return key_element(keys)


def _name_by_value(element: Any) -> str:
    if isinstance(element, dict):
        raise ValueError("associative list without keys has an element that's a map type")
    if isinstance(element, list):
        raise ValueError("not supported: associative list with lists as elements")
    if element is None:
        raise ValueError("associative list without keys has an element that's an explicit null")
    return value_element(element)


def _default(schema: SchemaNode, key: str) -> Any:
    field = schema.item().child(key)
    return ABSENT if field is None or field.default is None else field.default


def child_of(schema: SchemaNode, key: str) -> SchemaNode:
    """The type of a member that is known to exist."""
    child = schema.child(key)
    if child is None:
        raise ValueError(f".{key}: field not declared in schema")
    return child


def is_atomic(value: Any, schema: SchemaNode) -> bool:
    """Whether an object or a list has one owner, as far as the schema says: it may allow both."""
    return schema.list_type == "atomic" if isinstance(value, list) else schema.is_atomic


# Fields of a value.


def field_set(value: Any, schema: SchemaNode) -> FieldSet:
    """The fields of a value: leaves, members of maps, elements of lists; not the structs above them."""
    if is_atomic(value, schema):
        return {}
    if isinstance(value, dict):
        return _fields_of_object(value, schema)
    return _fields_of_list(value, schema) if isinstance(value, list) else {}


def _fields_of_object(value: dict[str, Any], schema: SchemaNode) -> FieldSet:
    result: FieldSet = {}
    for key, member in value.items():
        child = child_of(schema, key)
        is_field = _is_leaf(member, child) or not schema.declares(key)
        found = node(is_field, field_set(member, child))
        if found is not None:
            result[f"f:{key}"] = found
    return result


def _is_leaf(value: Any, schema: SchemaNode) -> bool:
    """Whether a value is a field by itself. An empty list that can be merged is not: it has nothing to own."""
    if isinstance(value, list):
        return is_atomic(value, schema)
    return not value or not isinstance(value, dict) or schema.is_atomic


def _fields_of_list(value: list[Any], schema: SchemaNode) -> FieldSet:
    result: FieldSet = {}
    item = schema.item()
    for name, elements in by_name(value, schema).items():
        # Elements with the same name cannot be told apart: they are one field.
        found = field_set(elements[0], item) if len(elements) == 1 else {}
        result[name] = node(True, found)
    return result


def by_name(elements: list[Any], schema: SchemaNode) -> dict[str, list[Any]]:
    """The elements by name; several may have the same."""
    result: dict[str, list[Any]] = {}
    for element in elements:
        result.setdefault(element_name(element, schema), []).append(element)
    return result


# Comparison.


def compare(old: Any, new: Any, schema: SchemaNode) -> Comparison:
    """The effect of a change from `old` to `new`."""
    result = Comparison({}, {}, {})
    _compare(old, new, schema, (), result)
    return result


def _compare(old: Any, new: Any, schema: SchemaNode, path: Path, result: Comparison) -> None:
    if old == new:
        return
    left, right = sides(old, new)
    if is_atomic(left, schema) or not (left or right):
        _compare_leaf(old, new, path, result)
        return
    if isinstance(left, dict):
        _compare_members(left, right, schema, path, result)
    else:
        _compare_elements(left, right, schema, path, result)
    if ABSENT in (old, new) or not (isinstance(old, type(left) | None) and isinstance(new, type(left) | None)):
        _compare_leaf(old, new, path, result)


def sides(old: Any, new: Any) -> tuple[Any, Any]:
    """Both values as objects or as lists, depending on either; a value of another type counts as empty."""
    kind = dict if isinstance(old, dict) or isinstance(new, dict) else list
    return old if isinstance(old, kind) else kind(), new if isinstance(new, kind) else kind()


def _compare_leaf(old: Any, new: Any, path: Path, result: Comparison) -> None:
    if not path:
        return
    if old is ABSENT:
        insert(result.added, path)
    elif new is ABSENT:
        insert(result.removed, path)
    else:
        insert(result.modified, path)


def _compare_members(
    old: dict[str, Any], new: dict[str, Any], schema: SchemaNode, path: Path, result: Comparison
) -> None:
    for key in old | new:
        left, right = old.get(key, ABSENT), new.get(key, ABSENT)
        if left != right:
            _compare(left, right, child_of(schema, key), (*path, f"f:{key}"), result)


def _compare_elements(old: list[Any], new: list[Any], schema: SchemaNode, path: Path, result: Comparison) -> None:
    before, after = by_name(old, schema), by_name(new, schema)
    item = schema.item()
    for name in before | after:
        left, right = before.get(name, []), after.get(name, [])
        field_path = (*path, name)
        if len(left) > 1 and len(right) > 1:
            if left != right:
                insert(result.modified, field_path)
            continue
        # A name that was or becomes ambiguous: it stands for another element from now on.
        _compare(only(left), only(right), item, field_path, result)
        if len(left) > 1:
            insert(result.removed, field_path)
        elif len(right) > 1:
            insert(result.added, field_path)


def only(elements: list[Any]) -> Any:
    """The element, if it is the only one with its name."""
    return elements[0] if len(elements) == 1 else ABSENT
