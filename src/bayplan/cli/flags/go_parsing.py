"""Parses flag values as Go programs do: booleans, durations, lists, maps."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from bayplan.config.duration import Duration
from bayplan.model.quantity import Quantity

_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def boolean(text: str) -> bool:
    if text not in _BOOLEANS:
        raise ValueError(f'"{text}" is not true or false')
    return _BOOLEANS[text]


def integer(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError(f'"{text}" is not an integer') from None


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f'"{text}" is not a number') from None


def address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise ValueError(f'"{text}" is not an IP address') from None


def quantity(text: str) -> str:
    return str(Quantity.parse(text))


def level(text: str) -> int:
    verbosity = integer(text.removeprefix("="))  # `-v=3` reaches us as `=3`
    if verbosity < 0:
        raise ValueError(f"{verbosity} is negative; 0 is the least")
    return verbosity


def strings(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "string": str,
    "bool": boolean,
    "int": integer,
    "int32": integer,
    "float32": number,
    "duration": Duration.parse,
    "ip": address,
    "quantity": quantity,
    "Level": level,
    "strings": strings,
    "int32Slice": strings,
    "stringToString": strings,
    "namedCertKey": strings,
    "pattern=N,...": strings,
    "colonSeparatedMultimapStringString": strings,
}
#: Flags of these kinds may be given several times; their values are concatenated.
LISTS: Final = frozenset(name for name, reader in READERS.items() if reader is strings)


class GoValue(click.ParamType[Any]):
    """A value of one of `READERS`."""

    def __init__(self, kind: str) -> None:
        self.name = kind
        self._read = READERS[kind]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def go_text(value: Any) -> str:
    """Format the value of a flag as Go does."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ",".join(value) + "]"
    return "" if value is None else str(value)
