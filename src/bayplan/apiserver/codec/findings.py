"""What is wrong with a body although it can be read: unknown and duplicate fields, named by their places."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from bayplan.apiserver.schemas import Node
from bayplan.apiserver.status import StatusError, bad_request

#: So many bytes of a body are quoted.
_QUOTED = 30


def unknown_fields(node: Node, value: object, place: str = "") -> list[str]:
    """`unknown field "spec.foo"` for every field that the schema does not have, in the order of the body."""
    return [f'unknown field "{found}"' for found in _unknown(node, value, place)]


def _unknown(node: Node, value: object, place: str) -> list[str]:
    if not node.kind:
        return []
    if isinstance(value, list):
        item = node.item()
        return [found for i, each in enumerate(value) for found in _unknown(item, each, f"{place}[{i}]")]
    if not isinstance(value, dict):
        return []
    found: list[str] = []
    for key, each in value.items():
        inner = f"{place}.{key}" if place else key
        child = node.child(key)
        found += [inner] if child is None else _unknown(child, each, inner)
    return found


def duplicate_fields(body: bytes, decoded: object) -> list[str]:
    """`duplicate field "metadata.name"` for every field that a JSON body gives twice."""
    # Clients write as msgspec does, nearly always; a body that is equal to its second writing has no duplicates.
    if msgspec.json.encode(decoded) == body.rstrip() or not _has_duplicates(body):
        return []
    found: list[str] = []
    _duplicates(json.loads(body, object_pairs_hook=_Pairs), "", found)
    return [f'duplicate field "{place}"' for place in found]


def _has_duplicates(body: bytes) -> bool:
    doubled = False

    def count(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal doubled
        fields = dict(pairs)
        doubled = doubled or len(fields) < len(pairs)
        return fields

    json.loads(body, object_pairs_hook=count)
    return doubled


class _Pairs(list[tuple[str, Any]]):
    """An object with all that was written."""


def _duplicates(value: object, place: str, found: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, each in value:
            inner = f"{place}.{key}" if place else key
            if key in seen and inner not in found:
                found.append(inner)
            seen.add(key)
            _duplicates(each, inner, found)
    elif isinstance(value, list):
        for i, each in enumerate(value):
            _duplicates(each, f"{place}[{i}]", found)


def unrecognized(kind: str, why: str, body: bytes) -> StatusError:
    """A body that is no object at all."""
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {why} ({_summary(body)})")


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    quoted = body[:_QUOTED].decode(errors="replace") if body[:1] == b"{" else body[:_QUOTED].hex()
    return f"{quoted} ..." if len(body) > _QUOTED else quoted
