"""Strictness errors of a body that can be decoded: unknown and duplicate fields, with their paths."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from bayplan.apiserver.api_errors import StatusError, bad_request
from bayplan.apiserver.schema.schemas import DefinitionNode

#: At most this many bytes of a body are quoted.
_QUOTED = 30


def unknown_fields(node: DefinitionNode, value: object, field_path: str = "") -> list[str]:
    """`unknown field "spec.foo"` for every field that the schema does not have, in the order of the body."""
    return [f'unknown field "{found}"' for found in _unknown(node, value, field_path)]


def _unknown(node: DefinitionNode, value: object, field_path: str) -> list[str]:
    if not node.kind:
        return []
    if isinstance(value, list):
        item = node.item()
        return [found for i, each in enumerate(value) for found in _unknown(item, each, f"{field_path}[{i}]")]
    if not isinstance(value, dict):
        return []
    found: list[str] = []
    for key, each in value.items():
        inner = f"{field_path}.{key}" if field_path else key
        child = node.child(key)
        found += [inner] if child is None else _unknown(child, each, inner)
    return found


def duplicate_fields(body: bytes, decoded: object) -> list[str]:
    """`duplicate field "metadata.name"` for every field that a JSON body sets twice."""
    # Most clients write JSON as msgspec does; a body equal to its re-encoding has no duplicates.
    if msgspec.json.encode(decoded) == body.rstrip() or not _has_duplicates(body):
        return []
    found: list[str] = []
    _duplicates(json.loads(body, object_pairs_hook=_Pairs), "", found)
    return [f'duplicate field "{field_path}"' for field_path in found]


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
    """An object with all its members, duplicates included."""


def _duplicates(value: object, field_path: str, found: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, each in value:
            inner = f"{field_path}.{key}" if field_path else key
            if key in seen and inner not in found:
                found.append(inner)
            seen.add(key)
            _duplicates(each, inner, found)
    elif isinstance(value, list):
        for i, each in enumerate(value):
            _duplicates(each, f"{field_path}[{i}]", found)


def unrecognized(kind: str, why: str, body: bytes) -> StatusError:
    """The error for a body that is not an object."""
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {why} ({_summary(body)})")


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    quoted = body[:_QUOTED].decode(errors="replace") if body[:1] == b"{" else body[:_QUOTED].hex()
    return f"{quoted} ..." if len(body) > _QUOTED else quoted
