"""Field sets as managedFields encodes them (FieldsV1), and set operations on them.

A set is a tree of path elements: `f:name` for a member of an object, `k:{"name":"web"}` for a list element by
its key, `v:"x"` for one by its value. A node that is empty, or has a `.`, is in the set; one that only has
children is not:

    {"f:spec": {"f:containers": {'k:{"name":"web"}': {".": {}, "f:image": {}}}}}

holds the container and its image, but neither `spec` nor the list. All functions return new sets, which may share
parts with their arguments: a set is never changed once it is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

FieldSet: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]

SELF = "."


def insert(fields: FieldSet, path: Path) -> None:
    """Add a path, without its parents, to a set under construction."""
    for element in path[:-1]:
        node = fields.get(element)
        if node is None:
            node = fields[element] = {}
        elif not node:
            node[SELF] = {}
        fields = node
    node = fields.setdefault(path[-1], {})
    if node:
        node[SELF] = {}


def node(is_member: bool, below: FieldSet) -> FieldSet | None:
    """A node with its children, in the set itself or not; None if that is empty."""
    if not is_member:
        return below or None
    return {SELF: {}, **below} if below else {}


def is_member(found: FieldSet) -> bool:
    return not found or SELF in found


def below(found: FieldSet) -> FieldSet:
    return {element: child for element, child in found.items() if element != SELF} if SELF in found else found


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Fields in either set."""
    result = dict(left)
    for element, other in right.items():
        mine = result.get(element)
        if mine is None or mine is other:
            result[element] = other
        else:
            both = union(below(mine), below(other))
            result[element] = node(is_member(mine) or is_member(other), both) or {}
    return result


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Fields in the left set only. A parent in the right set does not remove its children."""
    result = {}
    for element, mine in left.items():
        other = right.get(element)
        if other is not None:
            mine = node(is_member(mine) and not is_member(other), difference(below(mine), below(other)))
        if mine is not None:
            result[element] = mine
    return result


def without(left: FieldSet, right: FieldSet) -> FieldSet:
    """The left set without the fields of the right set and everything below them."""
    result = {}
    for element, mine in left.items():
        other = right.get(element)
        if other is not None:
            mine = None if is_member(other) else node(is_member(mine), without(below(mine), other))
        if mine is not None:
            result[element] = mine
    return result


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Fields in both sets."""
    result = {}
    for element in left.keys() & right.keys():
        mine, other = left[element], right[element]
        both = node(is_member(mine) and is_member(other), intersection(below(mine), below(other)))
        if both is not None:
            result[element] = both
    return result


def paths(fields: FieldSet) -> Iterator[Path]:
    """Every path in the set: first those of one level in order, then those below each."""
    elements = sorted((element for element in fields if element != SELF), key=_rank)
    for element in elements:
        if is_member(fields[element]):
            yield (element,)
    for element in elements:
        for path in paths(below(fields[element])):
            yield (element, *path)


def in_order(fields: FieldSet) -> FieldSet:
    """The same set with every level in the order in which kube-apiserver writes it."""
    return {element: in_order(fields[element]) for element in sorted(fields, key=_rank)}


def path_text(path: Path) -> str:
    """A path as conflicts show it: `.spec.containers[name="web"].image`."""
    return "".join(map(_element_text, path))


def _element_text(element: str) -> str:
    kind, text = element[:2], element[2:]
    match kind:
        case "f:":
            return f".{text}"
        case "k:":
            keys = msgspec.json.decode(text)
            return f"[{','.join(f'{name}={scalar_text(value)}' for name, value in keys.items())}]"
        case "v:":
            return f"[={scalar_text(msgspec.json.decode(text))}]"
    return f"[{text}]"


def key_element(keys: dict[str, Any]) -> str:
    """The path element of a list element with these key values."""
    return f"k:{scalar_text({name: keys[name] for name in sorted(keys)})}"


def value_element(value: Any) -> str:
    """The path element of a set element with this value."""
    return f"v:{scalar_text(value)}"


def scalar_text(value: Any) -> str:
    """JSON as Go writes it: HTML characters escaped."""
    text = msgspec.json.encode(value).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _rank(element: str) -> tuple[int, Any]:
    """Names first, then keys, then values; numbers by size, before texts."""
    kind, text = element[:2], element[2:]
    match kind:
        case "f:":
            return 1, text
        case "k:":
            return 2, [(name, _scalar_rank(value)) for name, value in msgspec.json.decode(text).items()]
        case "v:":
            return 3, _scalar_rank(msgspec.json.decode(text))
    return (0, "") if element == SELF else (4, text)


def _scalar_rank(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return 3, value
    return (1, value) if isinstance(value, int | float) else (2, value)
