"""What functions are there: their overloads, written as signatures, with what they do.

A signature reads `string.charAt(int) -> string` with a target and `quantity(string) -> quantity` without. Capital
letters are type variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bayplan.cel.checking.cel_types import (
    ANY,
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    DYN,
    FORMAT,
    INT,
    IP,
    NULL,
    QUANTITY,
    SEMVER,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    URL,
    CelType,
    Kind,
    list_of,
    map_of,
    optional_of,
    parameter,
    type_of,
)
from bayplan.cel.runtime.cel_values import classes_of, type_of_value

_SIMPLE = {
    "any": ANY, "bool": BOOL, "bytes": BYTES, "double": DOUBLE, "duration": DURATION, "dyn": DYN, "int": INT,
    "null": NULL, "string": STRING, "timestamp": TIMESTAMP, "type": TYPE, "uint": UINT, "quantity": QUANTITY,
    "semver": SEMVER, "url": URL, "format": FORMAT, "ip": IP, "cidr": CIDR,
}  # fmt: skip
_COMPOSED: Mapping[str, Callable[..., CelType]] = {
    "list": list_of,
    "map": map_of,
    "optional": optional_of,
    "type": type_of,
}
_WORD = re.compile(r"\w+|->|[().,]")


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function."""

    id: str
    is_member: bool
    args: tuple[CelType, ...]
    result: CelType
    #: None where the function as a whole, or the planner, does the work.
    implementation: Callable[..., Any] | None
    #: The type variables of the signature.
    variables: tuple[CelType, ...] = ()

    def classes(self) -> tuple[frozenset[type], ...] | None:
        """The Python classes of the arguments, if these say all about their types."""
        if any(arg.params or arg.kind is Kind.PARAMETER or arg.is_dyn for arg in self.args):
            return None
        return tuple(classes_of(arg) for arg in self.args)

    def accepts(self, args: Iterable[Any]) -> bool:
        """Whether the values at runtime are of these types; of a list or map the first element is looked at."""
        return all(map(_accepts, self.args, args))


@dataclass(slots=True)
class Function:
    """A function with all its overloads, in the order in which they are tried."""

    name: str
    overloads: list[Overload] = field(default_factory=list)
    #: Does the work for all overloads.
    singleton: Callable[..., Any] | None = None
    #: The overloads look at the types of their arguments themselves.
    unguarded: bool = False


class Library:
    """Functions by name. Libraries are merged into an environment."""

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}

    def overload(
        self, name: str, signature: str, id: str, implementation: Callable[..., Any] | None = None
    ) -> None:
        """Add an overload to a function; the name may have dots, so the signature is without it."""
        function = self.functions.setdefault(name, Function(name))
        function.overloads.append(_overload(signature, id, implementation))

    def singleton(self, name: str, implementation: Callable[..., Any], **signatures: str) -> None:
        """Add a function whose overloads share what they do."""
        function = self.functions.setdefault(name, Function(name))
        function.singleton = implementation
        for id, signature in signatures.items():
            function.overloads.append(_overload(signature, id, None))

    def merge(self, other: Library) -> None:
        """Take over the functions of another library; overloads of one name come after ours."""
        for name, function in other.functions.items():
            mine = self.functions.setdefault(name, Function(name))
            mine.overloads.extend(function.overloads)
            mine.singleton = mine.singleton or function.singleton
            mine.unguarded = mine.unguarded or function.unguarded


def _accepts(cel_type: CelType, value: Any) -> bool:
    if cel_type.kind is Kind.PARAMETER or cel_type.is_dyn:
        return True
    if type_of_value(value).name != cel_type.name:
        return False
    if cel_type.kind is Kind.LIST:
        return not value or _accepts(cel_type.params[0], value[0])
    if cel_type.kind is Kind.MAP:
        for key, element in value.items():
            plain = key if type(key) is str else key[1]
            return _accepts(cel_type.params[0], plain) and _accepts(cel_type.params[1], element)
    return True


# --- signatures -------------------------------------------------------------------------------------------


def _overload(signature: str, id: str, implementation: Callable[..., Any] | None) -> Overload:
    words = _Words(signature)
    args = []
    is_member = words.peek() != "("
    if is_member:
        args.append(words.type())
        words.expect(".")
    words.expect("(")
    while words.peek() != ")":
        args.append(words.type())
        words.accept(",")
    words.expect(")")
    words.expect("->")
    result = words.type()
    variables = tuple(words.variables.values())
    return Overload(id, is_member, tuple(args), result, implementation, variables)


class _Words:
    def __init__(self, text: str) -> None:
        self._words: list[str] = _WORD.findall(text)
        self.variables: dict[str, CelType] = {}

    def peek(self) -> str:
        return self._words[0]

    def accept(self, word: str) -> bool:
        if self._words[0] != word:
            return False
        self._words.pop(0)
        return True

    def expect(self, word: str) -> None:
        assert self.accept(word), f"{word!r} expected before {self._words}"  # noqa: S101 - our own tables

    def type(self) -> CelType:
        word = self._words.pop(0)
        if word in _COMPOSED and self._words and self._words[0] == "(":
            return self._composed(word)
        if word in _SIMPLE:
            return _SIMPLE[word]
        return self.variables.setdefault(word, parameter(word))

    def _composed(self, word: str) -> CelType:
        self.expect("(")
        params = [self.type()]
        while self.accept(","):
            params.append(self.type())
        self.expect(")")
        return _COMPOSED[word](*params)
