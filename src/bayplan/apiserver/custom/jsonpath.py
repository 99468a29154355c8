"""JSONPath as printer columns, scale and selectable fields use it: `.spec.x`, `[0]`, `[*]`, `[?(@.type=="A")]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec

#: From one value to the values that a step selects.
_Step: TypeAlias = Callable[[Any], Iterator[Any]]

_TOKEN: Final = re.compile(
    r"\.?(?P<name>(?:[^.\[\\]|\\.)+)"
    r"|\[(?P<index>-?\d+)\]"
    r"|\.?\[?(?P<all>\*)\]?"
    r"|\['(?P<quoted>[^']*)'\]"
    r"|\[\?\(@\.(?P<field>[^=!\s]+)\s*==\s*(?P<wanted>[^)]*)\)\]"
)


def find(path: str, value: Any) -> list[Any]:
    """All values at the path; none if something on the way is missing."""
    found = [value]
    for step in _steps(path):
        found = [each for before in found for each in step(before)]
    return found


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[_Step, ...]:
    return tuple(_step(token) for token in _TOKEN.finditer(path.strip("{}")))


def _step(token: re.Match[str]) -> _Step:
    if token["index"] is not None:
        return _index(int(token["index"]))
    if token["all"] is not None or token["name"] == "*":
        return _all
    if token["field"] is not None:
        return _where(token["field"], token["wanted"].strip().strip("\"'"))
    name = token["quoted"] if token["quoted"] is not None else token["name"].replace("\\.", ".")
    return _field(name)


def _field(name: str) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _index(position: int) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= position < len(value):
            yield value[position]

    return step


def _all(value: Any) -> Iterator[Any]:
    yield from value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _where(path: str, wanted: str) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        for each in value if isinstance(value, list) else ():
            if any(as_text(found) == wanted for found in find(f".{path}", each)):
                yield each

    return step


def as_text(value: Any) -> str:
    """A value as kubectl would print it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
