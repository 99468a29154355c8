"""An environment: the variables, types, functions and macros that an expression may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bayplan.cel.checking.cel_types import CelType
from bayplan.cel.checking.declarations import Library
from bayplan.cel.syntax.macros import Macros


@dataclass(frozen=True, slots=True)
class CelEnvironment:
    """What names mean."""

    variables: Mapping[str, CelType]
    #: Names of types that are values of their own, such as `int`.
    type_names: Mapping[str, CelType]
    library: Library
    macros: Macros
    #: Name of a struct → its fields.
    structs: Mapping[str, Mapping[str, CelType]] = field(default_factory=dict)
