"""`fieldPath` of a rule: which field an error is about, as a JSON path into the schema."""

from __future__ import annotations

import re
from typing import Final

from bayplan.apiserver.schema.schemas import Json

#: `.name`, or a quoted name in brackets.
_STEP: Final = re.compile(r"\.(?P<plain>[^.\[\]]+)|\['(?P<quoted>(?:[^'\\]|\\.)*)'\]")
_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "'": "'",
    "\\": "\\",
}


class RulePathError(ValueError):
    """The path names no field of the schema."""


def child_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def normalized(path: str, schema: Json) -> str:
    """The path as errors show it. Raises RulePathError."""
    found, position = "", 0
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            raise RulePathError(path)
        name = step["plain"] if step["plain"] is not None else _unescaped(step["quoted"])
        found, schema = _stepped(found, name, schema)
        position = step.end()
    return found


def _stepped(path: str, name: str, schema: Json) -> tuple[str, Json]:
    properties = schema.get("properties")
    if properties is not None:
        if name not in properties:
            raise RulePathError(name)
        return child_path(path, name), properties[name]
    values = schema.get("additionalProperties")
    if not isinstance(values, dict):
        raise RulePathError(name)
    return f"{path}[{name}]", values


def _unescaped(text: str) -> str:
    def char(match: re.Match[str]) -> str:
        if match[1] not in _ESCAPES:
            raise RulePathError(text)
        return _ESCAPES[match[1]]

    return re.sub(r"\\(.)", char, text)
