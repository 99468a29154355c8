"""`Args`: what a plugin takes from `pluginConfig`, as a class.

A plugin author writes

    class MyArgs(Args):
        mode: Literal["Least", "Most"] = "Least"
        resources: tuple[ResourceSpec, ...] = ()

and gets strict decoding (unknown fields, wrong types and choices are errors with file, line and path),
the defaults of the fields, and their own `validate` on top.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Self

from bayplan.config.api import ApiObject, Int64
from bayplan.config.paths import Path
from bayplan.config.problems import FieldError


class Args(ApiObject):
    """The arguments of one plugin. Immutable; equal when all fields are equal."""

    #: True leaves the arguments of a plugin that no extension point uses unchecked, as kube-scheduler
    #: does for those that only the plugin's constructor looks at.
    CHECKED_WHEN_USED: ClassVar[bool] = False
    #: Fields of earlier releases → what became of them: accepted and ignored, with a warning that says so.
    RETIRED: ClassVar[Mapping[str, str]] = MappingProxyType({})

    @classmethod
    def kind(cls) -> str:
        """The `kind` that the arguments carry in the effective configuration."""
        return cls.__name__

    def defaulted(self) -> Self:
        """These arguments with the defaults that depend on other fields filled in."""
        return self

    def validate(self, path: Path) -> list[FieldError]:
        """What is wrong with these (defaulted) arguments, which stand at `path`."""
        return []


class ResourceSpec(ApiObject):
    """A resource and its weight among the others."""

    OMIT_EMPTY = frozenset({"weight"})

    name: str = ""
    weight: Int64 = 0
