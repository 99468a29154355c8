"""Decodes JSON into a struct as Go's encoding/json does.

Only the first value of the text counts; field names match in any case; a repeated name merges into its earlier
value; null leaves a value unchanged and clears a list, a map or a pointer; unknown fields are ignored; invalid
UTF-8 becomes U+FFFD. Wrong types are errors, in words like Go's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from functools import cache
from typing import Any, Final, NoReturn, TypeVar, cast

from msgspec import Struct, inspect

from bayplan.model import KubeObject, ObjectError

T = TypeVar("T")

_BLANKS: Final = " \t\r\n"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_INT64: Final = range(-(2**63), 2**63)


class GoJsonError(ValueError):
    """The text is not JSON, or not JSON of this type."""


class Pairs(list[tuple[str, Any]]):
    """A JSON object, with repeated names."""


def decode(data: bytes, kind: type[T]) -> T:
    """Decode a value of type *kind*, a struct or a tuple of structs. Raises GoJsonError."""
    value = _parse(data.decode("utf-8", "replace"))
    info = _info(cast("Hashable", kind))
    return cast("T", _build(value, info, f"Go value of type v1.{_type_name(info)}", None))


@cache
def _info(kind: Hashable) -> inspect.Type:
    return inspect.type_info(kind)


# --- text → values ----------------------------------------------------------------------------------------


def _constant(name: str) -> NoReturn:
    raise GoJsonError(f"invalid character {name[0]!r} looking for beginning of value")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=Pairs, parse_constant=_constant)


def _parse(text: str) -> Any:
    start = len(text) - len(text.lstrip(_BLANKS))
    if start == len(text):
        raise GoJsonError("EOF")
    try:
        value, _ = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        if error.pos >= len(text) or error.msg.startswith("Unterminated"):
            raise GoJsonError("unexpected EOF") from None
        raise GoJsonError(f"invalid character {text[error.pos]!r}: {error.msg}") from None
    except RecursionError:
        raise GoJsonError("exceeded max depth") from None
    except ValueError as error:
        if isinstance(error, GoJsonError):
            raise
        raise GoJsonError(f"a number is too long: {error}") from None
    return value


def _text(value: str) -> str:
    return _SURROGATE.sub("\ufffd", value) if _SURROGATE.search(value) else value


# --- values → structs -------------------------------------------------------------------------------------


def _build(value: Any, kind: inspect.Type, where: str, before: Any) -> Any:
    """*value* as *kind*; *before* is the earlier value of the same field."""
    if isinstance(kind, inspect.UnionType):
        if value is None:
            return None
        kind = next(branch for branch in kind.types if not isinstance(branch, inspect.NoneType))
    if isinstance(kind, inspect.StructType):
        return _build_struct(value, kind, where, before)
    if isinstance(kind, inspect.DictType):
        return _build_map(value, kind, where, before)
    if isinstance(kind, inspect.VarTupleType):
        if value is None:
            return ()
        if not isinstance(value, list) or isinstance(value, Pairs):
            raise _wrong(value, where)
        return tuple(_build(item, kind.item_type, where, None) for item in value)
    if isinstance(kind, inspect.StrType):
        return _scalar(value, str, before if before is not None else "", where)
    if isinstance(kind, inspect.IntType):
        number = _scalar(value, int, before or 0, where)
        if number not in _INT64:
            raise GoJsonError(f"json: cannot unmarshal number {number} into {where}")
        return number
    raise TypeError(f"unsupported type {kind}")


def _build_struct(value: Any, kind: inspect.StructType, where: str, before: Any) -> Any:
    if value is None:
        return before if before is not None else _zero(kind)
    if not isinstance(value, Pairs):
        raise _wrong(value, where)
    if issubclass(kind.cls, KubeObject):
        try:
            return kind.cls.from_dict(_folded(value, kind))
        except ObjectError as error:
            raise GoJsonError(f"json: {error}") from None
    given = {field.name: getattr(before, field.name) for field in kind.fields} if before is not None else {}
    fields = _fields(kind.cls)
    for name, item in value:
        field = fields.get(name) or fields.get(name.casefold())
        if field is not None:
            place = f"Go struct field {kind.cls.__name__}.{field.encode_name}"
            given[field.name] = _build(item, field.type, place, given.get(field.name))
    return kind.cls(**given)


def _zero(kind: inspect.StructType) -> Any:
    return kind.cls.from_dict({}) if issubclass(kind.cls, KubeObject) else kind.cls()


def _build_map(value: Any, kind: inspect.DictType, where: str, before: Any) -> Any:
    if value is None:
        return {}
    if not isinstance(value, Pairs):
        raise _wrong(value, where)
    built = dict(before) if before else {}
    for name, item in value:
        built[_text(name)] = _build(item, kind.value_type, where, None)
    return built


def _scalar(value: Any, kind: type[T], before: T, where: str) -> T:
    if value is None:
        return before
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _wrong(value, where)
    return cast("T", _text(value)) if isinstance(value, str) else value


@cache
def _fields(cls: type[Struct]) -> dict[str, inspect.Field]:
    """Fields by name, and by lower-case name."""
    info = _info(cls)
    fields = info.fields if isinstance(info, inspect.StructType) else ()
    return {name: field for field in fields for name in (field.encode_name.casefold(), field.encode_name)}


# --- objects: plain values with the right names -----------------------------------------------------------


def _folded(value: Any, kind: inspect.Type) -> Any:
    """*value* as dicts and lists with the field names of *kind*; unknown names stay."""
    if isinstance(kind, inspect.UnionType):
        structs = [branch for branch in kind.types if not isinstance(branch, inspect.NoneType)]
        kind = structs[0] if structs else kind
    if isinstance(value, Pairs):
        if isinstance(kind, inspect.StructType):
            return _folded_struct(value, kind)
        of = kind.value_type if isinstance(kind, inspect.DictType) else inspect.AnyType()
        return {_text(name): _folded(item, of) for name, item in value}
    if isinstance(value, list):
        of = kind.item_type if isinstance(kind, inspect.VarTupleType) else inspect.AnyType()
        return [_folded(item, of) for item in value]
    return _text(value) if isinstance(value, str) else value


def _folded_struct(value: Pairs, kind: inspect.StructType) -> dict[str, Any]:
    fields = _fields(kind.cls)
    folded: dict[str, Any] = {}
    for name, item in value:
        field = fields.get(name) or fields.get(name.casefold())
        if field is None:
            folded[_text(name)] = _folded(item, inspect.AnyType())
        else:
            folded[field.encode_name] = _folded(item, field.type)
    return folded


# --- messages ---------------------------------------------------------------------------------------------


def _wrong(value: Any, where: str) -> GoJsonError:
    return GoJsonError(f"json: cannot unmarshal {_kind_of(value)} into {where}")


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, Pairs):
        return "object"
    if isinstance(value, list):
        return "array"
    return "string" if isinstance(value, str) else "number"


def _type_name(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.VarTupleType):
        return f"{_type_name(kind.item_type)}List"
    return kind.cls.__name__ if isinstance(kind, inspect.StructType) else type(kind).__name__
