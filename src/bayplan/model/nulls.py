"""JSON null as Go decodes it: null leaves the zero value, wherever it is.

In: decoded JSON and its type. Out: a copy without nulls. API servers rarely write null, so objects are decoded
strictly first; only an object that fails comes here, and is then decoded again. Where a type allows None (times,
pointers), null stays.
"""

from typing import Any

import msgspec
from msgspec import inspect

_Type = inspect.Type


def without_nulls(value: Any, cls: type[msgspec.Struct]) -> Any:
    """A copy of the JSON of a `cls` in which every null that `cls` does not allow is a zero value."""
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
        if name not in fields or (item is None and not _allows_none(fields[name])):
            continue
        cleaned[name] = _clean(item, fields[name])
    return cleaned


def _clean_item(item: Any, kind: _Type) -> Any:
    """An element of a list or map: unlike a field it cannot be dropped, so null becomes the zero value itself."""
    if item is not None or _allows_none(kind):
        return _clean(item, kind)
    if isinstance(kind, inspect.StructType):
        return {}
    if isinstance(kind, inspect.VarTupleType):
        return []
    if isinstance(kind, inspect.DictType):
        return {}
    return 0 if _allows(kind, inspect.IntType) else ""


def _not_none(union: inspect.UnionType) -> _Type:
    """The branch of `T | None` that is not None; in a union of scalars any branch will do."""
    return next(branch for branch in union.types if not isinstance(branch, inspect.NoneType))


def _allows_none(kind: _Type) -> bool:
    return _allows(kind, inspect.NoneType)


def _allows(kind: _Type, wanted: type[_Type]) -> bool:
    if isinstance(kind, inspect.UnionType):
        return any(isinstance(branch, wanted) for branch in kind.types)
    return isinstance(kind, wanted)
