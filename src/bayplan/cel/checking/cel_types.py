"""The types of CEL. A type is immutable; two with the same text are the same type."""

from __future__ import annotations

from enum import Enum, auto
from functools import cached_property


class Kind(Enum):
    """What sort of type it is."""

    ANY = auto()
    BOOL = auto()
    BYTES = auto()
    DOUBLE = auto()
    DURATION = auto()
    DYN = auto()
    ERROR = auto()
    INT = auto()
    LIST = auto()
    MAP = auto()
    NULL = auto()
    OPAQUE = auto()
    PARAMETER = auto()
    STRING = auto()
    STRUCT = auto()
    TIMESTAMP = auto()
    TYPE = auto()
    UINT = auto()


#: Kind → how its types are called in messages of the checker, where that is not their name.
_SPOKEN = {
    Kind.ANY: "any",
    Kind.DURATION: "duration",
    Kind.ERROR: "!error!",
    Kind.NULL: "null",
    Kind.TIMESTAMP: "timestamp",
}


class CelType:
    """A type; as a value, what `type(x)` returns."""

    def __init__(self, kind: Kind, name: str, *params: CelType) -> None:
        self.kind = kind
        self.name = name
        self.params = params
        #: Any value will do.
        self.is_dyn = kind in (Kind.DYN, Kind.ANY)
        self.is_dyn_or_error = self.is_dyn or kind is Kind.ERROR

    @cached_property
    def text(self) -> str:
        """How messages of the checker call it; also its identity."""
        if self.kind in _SPOKEN:
            return _SPOKEN[self.kind]
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(param.text for param in self.params)})"

    def __str__(self) -> str:
        """How messages of the runtime call it."""
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(map(str, self.params))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CelType) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"<{self.text}>"


ANY = CelType(Kind.ANY, "google.protobuf.Any")
BOOL = CelType(Kind.BOOL, "bool")
BYTES = CelType(Kind.BYTES, "bytes")
DOUBLE = CelType(Kind.DOUBLE, "double")
DURATION = CelType(Kind.DURATION, "google.protobuf.Duration")
DYN = CelType(Kind.DYN, "dyn")
ERROR = CelType(Kind.ERROR, "error")
INT = CelType(Kind.INT, "int")
NULL = CelType(Kind.NULL, "null_type")
STRING = CelType(Kind.STRING, "string")
TIMESTAMP = CelType(Kind.TIMESTAMP, "google.protobuf.Timestamp")
TYPE = CelType(Kind.TYPE, "type")
UINT = CelType(Kind.UINT, "uint")


def list_of(element: CelType) -> CelType:
    """`list(element)`."""
    return CelType(Kind.LIST, "list", element)


def map_of(key: CelType, value: CelType) -> CelType:
    """`map(key, value)`."""
    return CelType(Kind.MAP, "map", key, value)


def type_of(instance: CelType) -> CelType:
    """The type of a type."""
    return CelType(Kind.TYPE, "type", instance)


def optional_of(value: CelType) -> CelType:
    """`optional_type(value)`."""
    return CelType(Kind.OPAQUE, "optional_type", value)


def parameter(name: str) -> CelType:
    """A type variable."""
    return CelType(Kind.PARAMETER, name)


def struct(name: str) -> CelType:
    """An object with fields."""
    return CelType(Kind.STRUCT, name)


def opaque(name: str) -> CelType:
    """A type that only functions look into."""
    return CelType(Kind.OPAQUE, name)


LIST = list_of(DYN)
MAP = map_of(DYN, DYN)
OPTIONAL = opaque("optional_type")
QUANTITY = struct("kubernetes.Quantity")
SEMVER = struct("kubernetes.Semver")
URL = struct("kubernetes.URL")
FORMAT = struct("kubernetes.NamedFormat")
IP = opaque("net.IP")
CIDR = opaque("net.CIDR")


def unwrap_optional(cel_type: CelType) -> tuple[CelType, bool]:
    """The type inside an optional, and whether it is one."""
    if cel_type.kind is Kind.OPAQUE and cel_type.name == "optional_type":
        return cel_type.params[0], True
    return cel_type, False
