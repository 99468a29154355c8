"""The strict decoder: decodes a tree with positions into API objects, and collects all errors.

It follows Go's decoder where users can tell: null leaves a field at its default, names match by exact
case, `4.0` is a whole number in YAML, strings are never turned into numbers. A value that cannot be
decoded is reported and replaced by its default, so that the rest can still be checked.
"""

from __future__ import annotations

import base64
import binascii
import collections.abc
import math
import struct
import typing
from collections.abc import Callable
from typing import Any, Final, Literal, TypeGuard

import msgspec

from bayplan.config.api_object import ApiObject, NullRefused, NumberAsText, SinglePrecision
from bayplan.config.duration import Duration
from bayplan.config.field_path import Path
from bayplan.config.problems import FieldError, did_you_mean, join_or
from bayplan.config.schema import (
    FieldInfo,
    absent_fields,
    fields_of,
    homes_of,
    item_object,
    split_annotated,
    split_optional,
)
from bayplan.config.tree import Mapping, Node, Scalar, Sequence, describe, is_null, plain
from bayplan.release import DEFAULT, Release

#: Hints for fields that are often misplaced: (class name, field) → hint.
_ADDRESS_REMOVED = "it was removed; use the flags --bind-address and --secure-port"
MISPLACED = {
    ("KubeSchedulerProfile", "extenders"): (
        "extenders belong at the top level, beside profiles, and are shared by all profiles"
    ),
    ("KubeSchedulerConfiguration", "algorithmSource"): "it was removed; configure profiles instead",
    ("KubeSchedulerConfiguration", "healthzBindAddress"): _ADDRESS_REMOVED,
    ("KubeSchedulerConfiguration", "metricsBindAddress"): _ADDRESS_REMOVED,
}
_UNDECODED = object()
#: Types of lists, and what their items are put into.
_COLLECTIONS: Final[dict[Any, Callable[[list[Any]], Any]]] = {
    tuple: tuple,
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: tuple,
}


class Decoder:
    """Decodes trees and collects errors; `root`: the class in which misplaced fields are looked up."""

    def __init__(self, root: type[ApiObject] | None = None, release: Release = DEFAULT) -> None:
        self.errors: list[FieldError] = []
        #: Fields whose value could not be decoded and was replaced by a default.
        self.broken: list[Path] = []
        self._root = root
        self._release = release

    def decode_object(
        self, node: Node, cls: type[ApiObject], path: Path, skip: frozenset[str] = frozenset()
    ) -> Any:
        """Decode a mapping into `cls`; keys in `skip` are ignored."""
        if is_null(node):
            return self._build(cls, {}, path)
        if not isinstance(node, Mapping):
            self._wrong_type(node, path, "a mapping")
            return self._build(cls, {}, path)
        known, values = self._known(cls), {}
        for entry in node.effective_entries():
            if entry.key in skip:
                continue
            if entry.key not in known:
                self._unknown_field(cls, entry.key, entry.value, path / entry.key)
                continue
            info = known[entry.key]
            value = self._field(entry.value, info, path / entry.key)
            if value is not _UNDECODED:
                values[info.name] = value
        return self._build(cls, values, path)

    def _known(self, cls: type[ApiObject]) -> dict[str, FieldInfo]:
        fields = fields_of(cls)
        absent = absent_fields(cls, self._release)
        return {name: info for name, info in fields.items() if name not in absent} if absent else fields

    def decode(self, node: Node, type_: Any, path: Path) -> Any:
        """Decode any value; an undecodable one yields a marker that callers replace by a default."""
        type_, _ = split_optional(type_)
        bare, extras = split_annotated(type_)
        origin = typing.get_origin(bare)
        if origin in _COLLECTIONS:
            return self._items(node, origin, typing.get_args(bare)[0], path)
        if origin is dict:
            return self._dict(node, typing.get_args(bare)[1], path)
        if origin is Literal:
            return self._literal(node, typing.get_args(bare), path)
        if isinstance(bare, type) and issubclass(bare, ApiObject):
            return self.decode_object(node, bare, path)
        if bare is Duration:
            return self._duration(node, path)
        if bare is bool:
            return self._plain(node, bool, "true or false", path)
        if bare is str:
            if NumberAsText in extras and _is_number(node):
                return str(node.value)
            return self._plain(node, str, "a string", path)
        if bare is int:
            return self._int(node, extras, path)
        if bare is float:
            return self._float(node, SinglePrecision in extras, path)
        if bare is bytes:
            return self._bytes(node, path)
        if self._root is not None:
            return node  # a raw tree, decoded later
        return self._untyped(node, bare, path)

    # --- values ---------------------------------------------------------------------------------

    def _field(self, node: Node, info: FieldInfo, path: Path) -> Any:
        if not is_null(node):
            return self.decode(node, info.type, path)
        if NullRefused in split_annotated(info.type)[1]:
            return self._error(path, "null is not a duration", "leave the field out to get its default")
        if info.required:
            return self._error(path, "a value is required")
        return _UNDECODED  # the default, which may be a new list for each object

    def _build(self, cls: type[ApiObject], values: dict[str, Any], path: Path) -> Any:
        for info in fields_of(cls).values():
            if info.required and info.name not in values:
                if not any(error.path == path / info.encoded for error in self.errors):
                    self._error(path / info.encoded, "a value is required")
                values[info.name] = zero_of(info.type)
        return cls(**values)

    def _untyped(self, node: Node, type_: Any, path: Path) -> Any:
        """An argument whose type says nothing about what is in it: `Any`, `dict`, `list`."""
        if type_ is list and not isinstance(node, Sequence):
            return self._wrong_type(node, path, "a list")
        if type_ is dict and not isinstance(node, Mapping):
            return self._wrong_type(node, path, "a mapping")
        return plain(node)

    def _items(self, node: Node, collection: Any, item_type: Any, path: Path) -> Any:
        if not isinstance(node, Sequence):
            return self._wrong_type(node, path, "a list")
        items = []
        for i, item in enumerate(node.items):
            value = zero_of(item_type) if is_null(item) else self.decode(item, item_type, path / i)
            items.append(zero_of(item_type) if value is _UNDECODED else value)
        return _COLLECTIONS[collection](items)

    def _dict(self, node: Node, value_type: Any, path: Path) -> Any:
        if not isinstance(node, Mapping):
            return self._wrong_type(node, path, "a mapping")
        values = {}
        for entry in node.effective_entries():
            value = self.decode(entry.value, value_type, path / entry.key)
            values[entry.key] = zero_of(value_type) if value is _UNDECODED else value
        return values

    def _literal(self, node: Node, choices: tuple[Any, ...], path: Path) -> Any:
        value = node.value if isinstance(node, Scalar) else None
        if any(value == choice and type(value) is type(choice) for choice in choices):
            return value
        words = [str(choice) for choice in choices]
        hint = did_you_mean(value, words) if isinstance(value, str) else ""
        return self._error(path, f"{describe(node)} is not one of {join_or(words)}", hint)

    def _duration(self, node: Node, path: Path) -> Any:
        if _is_number(node):
            return self._error(path, f"{describe(node)} is not a duration", f"write {node.value}s for seconds")
        value = self._plain(node, str, "a duration such as 15s", path)
        if value is _UNDECODED:
            return value
        try:
            return Duration.parse(value)
        except ValueError as error:
            message, _, hint = str(error).partition("; ")
            return self._error(path, message, hint)

    def _int(self, node: Node, extras: tuple[Any, ...], path: Path) -> Any:
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, bool) or not isinstance(value, int):
            hint = ""
            if isinstance(value, str) and value.lstrip("-").isdecimal():
                hint = f"write {value} without quotes"
            return self._wrong_type(node, path, "a whole number", hint)
        limits = next((extra for extra in extras if isinstance(extra, msgspec.Meta)), None)
        low = limits.ge if limits and limits.ge is not None else -(2**63)
        high = limits.le if limits and limits.le is not None else 2**63 - 1
        if not low <= value <= high:
            return self._error(path, f"{value} is out of range", f"between {low} and {high} is possible")
        return value

    def _float(self, node: Node, single: bool, path: Path) -> Any:
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self._wrong_type(node, path, "a number")
        try:
            number = struct.unpack("f", struct.pack("f", value))[0] if single else float(value)
        except OverflowError:
            number = math.inf
        return number if math.isfinite(number) else self._error(path, f"{value} is out of range")

    def _bytes(self, node: Node, path: Path) -> Any:
        value = self._plain(node, str, "base64 text", path)
        if value is _UNDECODED:
            return value
        try:
            return base64.b64decode(value.replace("\r", "").replace("\n", ""), validate=True)
        except binascii.Error:
            return self._error(path, "this is not base64 text")

    def _plain(self, node: Node, type_: type, wanted: str, path: Path) -> Any:
        if isinstance(node, Scalar) and isinstance(node.value, type_):
            return node.value
        hint = ""
        if type_ is str and isinstance(node, Scalar) and wanted == "a string":
            hint = f'write "{_go_text(node.value)}" in quotes'
        if type_ is bool and isinstance(node, Scalar) and str(node.value) in ("true", "false", "yes", "no"):
            hint = f"write {node.value} without quotes"
        return self._wrong_type(node, path, wanted, hint)

    # --- errors ---------------------------------------------------------------------------------

    def _error(self, path: Path, message: str, hint: str = "") -> Any:
        self.errors.append(FieldError(path, message, hint))
        self.broken.append(path)
        return _UNDECODED

    def _wrong_type(self, node: Node, path: Path, wanted: str, hint: str = "") -> Any:
        return self._error(path, f"{describe(node)} is not {wanted}", hint)

    def _unknown_field(self, cls: type[ApiObject], name: str, value: Node, path: Path) -> None:
        if name in fields_of(cls):
            self.errors.append(FieldError(path, "unknown field", f"{self._release} does not have it"))
            return
        known = self._known(cls)
        homes = homes_of(name, self._root) if self._root else []
        hint = MISPLACED.get((cls.__name__, name)) or did_you_mean(name, known) or _home_hint(name, homes)
        hint = hint or "known here: " + ", ".join(known)
        self.errors.append(FieldError(path, "unknown field", hint))
        inner = {item_object(info.type) for _, info in homes}
        if len(inner) == 1 and inner != {None}:
            self.decode(value, homes[0][1].type, path)  # to report the errors inside as well


def _home_hint(name: str, homes: list[tuple[str, FieldInfo]]) -> str:
    if not homes:
        return ""
    places = list(dict.fromkeys(place for place, _ in homes))
    if len(places) > 2:
        return f"{name} belongs further in, for example under {places[0] or 'the top level'}"
    return f"{name} belongs " + " or ".join(f"under {place}" if place else "at the top level" for place in places)


def _is_number(node: Node) -> TypeGuard[Scalar]:
    return isinstance(node, Scalar) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def _go_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def zero_of(type_: Any) -> Any:
    """The zero value of the type: 0, "", false, no items, an object of defaults."""
    type_, optional = split_optional(type_)
    if optional:
        return None
    bare, _ = split_annotated(type_)
    origin = typing.get_origin(bare)
    if origin is Literal:
        return typing.get_args(bare)[0]
    if origin is not None:
        return origin()
    if isinstance(bare, type) and issubclass(bare, ApiObject):
        return bare(**{info.name: zero_of(info.type) for info in fields_of(bare).values() if info.required})
    return bare() if isinstance(bare, type) else None
