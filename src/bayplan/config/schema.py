"""Introspection of the configuration classes: fields, their types, and where a field belongs."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, Union

import msgspec

from bayplan.config.api_object import ApiObject
from bayplan.release import Release


class FieldInfo(msgspec.Struct, frozen=True):
    """One field of an API object."""

    name: str
    encoded: str
    type: Any
    required: bool
    default: Any = None


@functools.cache
def fields_of(cls: type[ApiObject]) -> dict[str, FieldInfo]:
    """The fields by their name in the file."""
    infos = {}
    for field in msgspec.structs.fields(cls):
        default = field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        required = default is msgspec.NODEFAULT
        infos[field.encode_name] = FieldInfo(
            field.name, field.encode_name, field.type, required, None if required else default
        )
    return infos


def absent_fields(cls: type[ApiObject], release: Release) -> frozenset[str]:
    """The fields, by their name in the file, that do not exist in *release*."""
    return frozenset(name for name, fact in cls.IF_FACT.items() if not getattr(release.facts, fact))


def split_annotated(type_: Any) -> tuple[Any, tuple[Any, ...]]:
    """The bare type and its annotations."""
    if typing.get_origin(type_) is Annotated:
        bare, *extras = typing.get_args(type_)
        return bare, tuple(extras)
    return type_, ()


def split_optional(type_: Any) -> tuple[Any, bool]:
    """The type without `None`, and whether it had it."""
    if typing.get_origin(type_) in (Union, types.UnionType):
        members = [member for member in typing.get_args(type_) if member is not types.NoneType]
        if len(members) < len(typing.get_args(type_)):
            return (members[0] if len(members) == 1 else Union[tuple(members)]), True  # noqa: UP007
    return type_, False


def item_object(type_: Any) -> type[ApiObject] | None:
    """The API object in a field, directly or in a list; None for a plain value."""
    bare, _ = split_annotated(split_optional(type_)[0])
    if typing.get_origin(bare) is tuple:
        bare, _ = split_annotated(typing.get_args(bare)[0])
    return bare if isinstance(bare, type) and issubclass(bare, ApiObject) else None


def homes_of(name: str, root: type[ApiObject]) -> list[tuple[str, FieldInfo]]:
    """Where below `root` a field called `name` belongs: `("profiles[].plugins.score", info)`, outermost first."""
    found = [(place, info) for place, info in _walk(root, "") if info.encoded == name]
    return sorted(found, key=lambda home: (home[0].count("."), len(home[0])))


def _walk(cls: type[ApiObject], place: str) -> Iterator[tuple[str, FieldInfo]]:
    for info in fields_of(cls).values():
        yield place, info
        inner = item_object(info.type)
        if inner is not None:
            brackets = "[]" if typing.get_origin(split_optional(info.type)[0]) is tuple else ""
            yield from _walk(inner, f"{place}.{info.encoded}{brackets}".lstrip("."))
