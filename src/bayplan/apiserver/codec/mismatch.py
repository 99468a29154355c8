"""Type errors of values, in the words of Go's decoder."""

from __future__ import annotations

from typing import Final

_NAMES: Final = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}
_NUMBERS: Final = frozenset({"int32", "int64", "float64"})


class MalformedValueError(ValueError):
    """A value that its type refuses with a message of its own (a quantity, a time)."""


class MismatchError(MalformedValueError):
    """A value with the wrong JSON type; each enclosing struct adds its name and path."""

    def __init__(self, value: object, expected: str) -> None:
        super().__init__()
        self._value = value
        self._expected = expected
        self._struct = ""
        self._path: list[str] = []

    def add_context(self, struct: str, field: str) -> None:
        """Called from the inside out; Go names the innermost struct and the whole path."""
        self._struct = self._struct or struct
        self._path.insert(0, field)

    def __str__(self) -> str:
        path = ".".join([self._struct, *self._path])
        place = f"Go struct field {path}" if self._path else "Go value"
        return f"json: cannot unmarshal {self._shown()} into {place} of type {self._expected}"

    def _shown(self) -> str:
        # A number that is out of range is shown; one where no number is expected is not.
        name = json_type(self._value)
        return f"number {self._value}" if name == "number" and self._expected in _NUMBERS else name


def json_type(value: object) -> str:
    return _NAMES.get(type(value), "null")
