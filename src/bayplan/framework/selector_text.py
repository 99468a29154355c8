"""Selectors as text: `kubectl -l` and `--field-selector`, as lists and watches take them.

In: the text. Out: a `Selector` over labels, or the conditions on fields. Errors are in the words of
kube-apiserver.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from bayplan.model.label_selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    GT,
    IN,
    LT,
    NOT_IN,
    Requirement,
    Selector,
    SelectorError,
)
from bayplan.model.label_validation import label_key_errors, label_value_errors

_TOKEN = re.compile(r"\s*(==|!=|=|!|,|\(|\)|>|<|[^\s=!,()<>]+)")
_SPECIAL: Final = frozenset({"==", "!=", "=", "!", ",", "(", ")", ">", "<"})
_OPERATORS: Final = {"=": IN, "==": IN, "!=": NOT_IN, ">": GT, "<": LT, "in": IN, "notin": NOT_IN}
_FIELD_TERM = re.compile(r"^(?P<field>(?:[^=!\\]|\\.)*?)(?P<operator>!=|==|=)(?P<value>.*)$", re.S)
_SPLIT = re.compile(r"(?<!\\)((?:\\\\)*),")
_CHARACTER = re.compile(r"\\.?|=", re.S)
_ESCAPED = re.compile(r"\\([\\,=])")
NAME: Final = "metadata.name"
NAMESPACE: Final = "metadata.namespace"


class FieldTerm(NamedTuple):
    """One condition of a field selector."""

    field: str
    equal: bool
    value: str


def parse_fields(text: str) -> Iterator[FieldTerm]:
    """Parse a field selector as `kubectl --field-selector` takes it. Raises SelectorError."""
    for part in _SPLIT.sub("\\1\0", text).split("\0"):
        if not part:
            continue
        found = _FIELD_TERM.match(part)
        if found is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
        yield FieldTerm(found["field"], found["operator"] != "!=", _unescaped(found["value"]))


def _unescaped(value: str) -> str:
    """Unescape backslash, comma and equals sign; all of them must be escaped."""
    for found in _CHARACTER.finditer(value):
        if found[0] == "=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord('=')}")
        if found[0].startswith("\\") and found[0][1:] not in ("\\", ",", "="):
            raise SelectorError(f"invalid field selector: invalid escape sequence: {found[0]}")
    return _ESCAPED.sub(r"\1", value)


def parse_labels(text: str) -> Selector:
    """Parse a label selector as `kubectl -l` takes it. Raises SelectorError."""
    return Selector(_LabelParser(text).requirements())


class _LabelParser:
    """Parses a selector token by token. The end is an empty token."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._at = 0

    def requirements(self) -> Iterator[Requirement]:
        while True:
            word = self._peek()
            if not word:
                return
            if word in _SPECIAL and word != "!":
                raise SelectorError(f"found '{word}', expected: !, identifier, or 'end of string'")
            yield self._requirement()
            word = self._next()
            if not word:
                return
            if word != ",":
                raise SelectorError(f"found '{word}', expected: ',' or 'end of string'")
            if self._peek() == "" or (self._peek() in _SPECIAL and self._peek() != "!"):
                raise SelectorError(f"found '{self._peek()}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._next()
        key = self._next()
        if key == "" or key in _SPECIAL:
            raise _unreadable(f"found '{key}', expected: identifier")
        _check(label_key_errors(key), f'<nil>: Invalid value: "{key}"')
        following = self._peek()
        if following in ("", ","):
            return Requirement(key, DOES_NOT_EXIST if negated else EXISTS)
        if negated:
            raise SelectorError(f"found '{following}', expected: ',' or 'end of string'")
        operator = _OPERATORS.get(self._next())
        if operator is None:
            raise _unreadable(f"found '{following}', expected: in, notin, =, ==, !=, gt, lt")
        values = self._values() if following in ("in", "notin") else [self._value()]
        return _checked(key, operator, values)

    def _value(self) -> str:
        """One value; a missing one is empty."""
        if self._peek() in ("", ","):
            return ""
        value = self._next()
        if value in _SPECIAL:
            raise _unreadable(f"found '{value}', expected: identifier")
        return value

    def _values(self) -> list[str]:
        opened = self._next()
        if opened != "(":
            raise _unreadable(f"found '{opened}' expected: '('")
        values, value = [], ""
        while (word := self._next()) != ")":
            if not word:
                raise _unreadable("found '', expected: ',' or ')'")
            if word == ",":
                values.append(value)
                value = ""
            elif word in _SPECIAL or value:
                raise _unreadable(f"found '{word}', expected: ',' or ')'")
            else:
                value = word
        return [*values, value]

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        word = self._peek()
        self._at += 1
        return word


def _checked(key: str, operator: str, values: list[str]) -> Requirement:
    if operator in (GT, LT):
        requirement = Requirement(key, operator, values)
        if requirement.number is None:
            why = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise _unreadable(f'values[0]: Invalid value: "{values[0]}": {why}')
        return requirement
    for i, value in enumerate(values):
        _check(label_value_errors(value), f'values[{i}][{key}]: Invalid value: "{value}"')
    return Requirement(key, operator, values)


def _check(errors: list[str], where: str) -> None:
    if errors:
        raise _unreadable(f"{where}: {'; '.join(errors)}")


def _unreadable(why: str) -> SelectorError:
    return SelectorError(f"unable to parse requirement: {why}")
