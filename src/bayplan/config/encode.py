"""Encodes API objects as plain values for YAML and JSON, as kube-scheduler does."""

from __future__ import annotations

import base64
import struct
from typing import Any

from bayplan.config.api_object import ApiObject, SinglePrecision
from bayplan.config.duration import Duration
from bayplan.config.schema import fields_of, split_annotated, split_optional
from bayplan.config.tree import Mapping, Scalar, Sequence, plain


def encode(value: Any) -> Any:
    """The value as `dict`, `list`, `str`, `int`, `float`, `bool` or `None`."""
    if isinstance(value, ApiObject):
        return _object(value)
    if isinstance(value, Duration):
        return str(value)
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((encode(item) for item in value), key=str)
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping | Sequence | Scalar):
        return plain(value)
    return value


def _object(value: ApiObject) -> dict[str, Any]:
    encoded = {}
    for info in fields_of(type(value)).values():
        item = getattr(value, info.name)
        if info.name in value.OMIT_EMPTY and _is_empty(item, info.type):
            continue
        single = SinglePrecision in split_annotated(info.type)[1]
        encoded[info.encoded] = _shortest_single(item) if single else encode(item)
    return encoded


def _is_empty(item: Any, type_: Any) -> bool:
    """Go's omitempty: a nil pointer is empty, a pointer to zero is not; a struct never is."""
    if item is None:
        return True
    optional = split_optional(type_)[1]
    if optional and not isinstance(item, tuple | dict):
        return False
    return not item and not isinstance(item, Duration)


def _shortest_single(value: float) -> float | int:
    """The shortest decimal that parses to the same 32-bit float; integers without a point."""
    if value.is_integer():
        return int(value)
    wanted = struct.pack("f", value)
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    return next(float(text) for text in texts if struct.pack("f", float(text)) == wanted)
