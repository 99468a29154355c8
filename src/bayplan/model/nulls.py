"""JSON null as Go reads it: null leaves the zero value, wherever it stands.

API servers rarely write null, so objects are decoded strictly first; only an object that failed is walked here,
along its type, and decoded again. Where a type admits None (times, pointers) null stays what it is.
"""

from typing import Any

import msgspec
from msgspec import inspect

_Type = inspect.Type


def without_nulls(value: Any, cls: type[msgspec.Struct]) -> Any:
    """A copy of the JSON of a `cls` in which every null that `cls` does not admit is a zero value."""
    return _clean(value, inspect.type_info(cls))


def _clean(value: Any, kind: _Type) -> Any:
    if isinstance(kind, inspect.UnionType):
        kind = _not_none(kind)
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        return _clean_struct(value, kind)
    if isinstance(kind, inspect.DictType) and isinstance(value, dict):
        return {key: _clean_item(item, kind.value_type) for key, item in value.items()}
    if isinstance(kind, inspect.VarTupleType) and isinstance(value, list | tuple):
        return [_clean_item(item, kind.item_type) for item in value]
    return value


def _clean_struct(value: dict[str, Any], kind: inspect.StructType) -> dict[str, Any]:
    fields = {field.encode_name: field.type for field in kind.fields}
    cleaned = {}
    for name, item in value.items():
        if name not in fields or (item is None and not _admits_none(fields[name])):
            continue
        cleaned[name] = _clean(item, fields[name])
    return cleaned


def _clean_item(item: Any, kind: _Type) -> Any:
    """An element of a list or map: unlike a field it cannot be dropped, so null becomes the zero value itself."""
    if item is not None or _admits_none(kind):
        return _clean(item, kind)
    if isinstance(kind, inspect.StructType):
        return {}
    if isinstance(kind, inspect.VarTupleType):
        return []
    if isinstance(kind, inspect.DictType):
        return {}
    return 0 if _admits(kind, inspect.IntType) else ""


def _not_none(union: inspect.UnionType) -> _Type:
    """The branch of `T | None` that is not None; a union of scalars needs no walk, so any branch does."""
    return next(branch for branch in union.types if not isinstance(branch, inspect.NoneType))


def _admits_none(kind: _Type) -> bool:
    return _admits(kind, inspect.NoneType)


def _admits(kind: _Type, wanted: type[_Type]) -> bool:
    if isinstance(kind, inspect.UnionType):
        return any(isinstance(branch, wanted) for branch in kind.types)
    return isinstance(kind, wanted)
