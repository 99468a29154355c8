"""ApiObject: the base class of every object of the configuration API.

Fields are written in snake case and read and printed in camel case; a field's default is what a missing
field means. `None` in a type says that the field may be left out altogether (a pointer, in Go).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar, TypeAlias, dataclass_transform

import msgspec

from bayplan.config.duration import Duration

GROUP = "kubescheduler.config.k8s.io"
API_VERSION = f"{GROUP}/v1"

Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class SinglePrecision:
    """Marks a number that Go stores in 32 bits."""


Float32: TypeAlias = Annotated[float, SinglePrecision]


class NumberAsText:
    """Marks a string that may be written as a number: an amount of a resource."""


QuantityText: TypeAlias = Annotated[str, NumberAsText]


class NullRefused:
    """Marks a field that may be missing but not `null`: Go's decoder reads null as an empty duration there."""


SetDuration: TypeAlias = Annotated[Duration, NullRefused]


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class ApiObject(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One object of the configuration API."""

    #: Fields (Python names) that are not printed while they are empty: 0, "", false, no items.
    OMIT_EMPTY: ClassVar[frozenset[str]] = frozenset()
    #: Fields (names in the file) that not every release of Kubernetes has → the fact of those that have it.
    IF_FACT: ClassVar[Mapping[str, str]] = MappingProxyType({})
