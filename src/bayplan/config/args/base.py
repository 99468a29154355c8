"""`Args`: the base class for the arguments of a plugin in `pluginConfig`.

A plugin author writes

    class MyArgs(Args):
        mode: Literal["Least", "Most"] = "Least"
        resources: tuple[ResourceSpec, ...] = ()

and gets strict decoding (unknown fields, wrong types and choices are errors with file, line and path),
the defaults of the fields, and their own `validate` on top.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

import msgspec

from bayplan.config.api_object import ApiObject, Int64
from bayplan.config.field_path import Path
from bayplan.config.problems import FieldError
from bayplan.release import Release


class ArgsMeta(msgspec.StructMeta):
    """Understands the defaults that authors write: `names: list[str] = ["a"]` is a new list for each instance."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], /, **options: Any) -> ArgsMeta:
        defaults = {
            field: _default(namespace[field])
            for field, annotation in _annotations(namespace).items()
            if field in namespace and "ClassVar" not in str(annotation)
        }
        made: ArgsMeta = super().__new__(cls, name, bases, {**namespace, **defaults}, **options)
        return made


def _annotations(namespace: dict[str, Any]) -> Mapping[str, Any]:
    """Of a class that is being made."""
    if sys.version_info >= (3, 14) and "__annotations__" not in namespace:
        import annotationlib

        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        if annotate is None:
            return {}
        return annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF)
    found: Mapping[str, Any] = namespace.get("__annotations__", {})
    return found


def _default(value: Any) -> Any:
    if isinstance(value, dataclasses.Field):
        if value.default_factory is not dataclasses.MISSING:
            return msgspec.field(default_factory=value.default_factory)
        return msgspec.field() if value.default is dataclasses.MISSING else _default(value.default)
    if isinstance(value, list | dict | set) and value:
        return msgspec.field(default_factory=functools.partial(copy.deepcopy, value))
    return value


class Args(ApiObject, metaclass=ArgsMeta):
    """The arguments of one plugin. Immutable; equal when all fields are equal."""

    #: True: the arguments are not validated if no extension point uses the plugin, as in kube-scheduler for
    #: arguments that only the constructor of the plugin checks.
    CHECKED_WHEN_USED: ClassVar[bool] = False
    #: Removed fields → their replacement. They are accepted and ignored, with a warning.
    RETIRED: ClassVar[Mapping[str, str]] = MappingProxyType({})

    @classmethod
    def kind(cls) -> str:
        """The `kind` of the arguments in the effective configuration."""
        return cls.__name__

    def defaulted(self) -> Self:
        """These arguments with the defaults that depend on other fields."""
        return self

    def validate(self, path: Path) -> list[FieldError]:
        """The errors in these (defaulted) arguments, which are at `path`."""
        return []

    def defaulted_in(self, release: Release) -> Self:
        """The same as `defaulted`, for defaults that depend on the release of Kubernetes."""
        return self.defaulted()

    def errors_in(self, release: Release, path: Path) -> list[FieldError]:
        """The same as `validate`, for rules that depend on the release of Kubernetes."""
        return self.validate(path)


class ResourceSpec(ApiObject):
    """A resource and its weight."""

    OMIT_EMPTY = frozenset({"weight"})

    name: str = ""
    weight: Int64 = 0
