"""Regular expressions: `matches`, `find` and `findAll`, with RE2's meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayplan.cel.cel_errors import EvaluationError, no_such_overload
from bayplan.cel.checking.cel_types import CelType
from bayplan.cel.checking.declarations import Library
from bayplan.cel.functions.operators import refuse
from bayplan.cel.regex.linear_regex import LinearRegex, compile_regex
from bayplan.cel.regex.pattern import PatternError


def _matches(text: Any, pattern: Any) -> bool:
    if type(text) is not str:
        raise refuse("matches", text)
    if type(pattern) is not str:
        raise no_such_overload()
    try:
        return compile_regex(pattern).search(text)
    except PatternError as error:
        raise EvaluationError(str(error)) from None


def _compiled(pattern: str) -> LinearRegex:
    try:
        return compile_regex(pattern)
    except PatternError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _first(regex: LinearRegex, text: str) -> str:
    found = regex.find(text)
    return "" if found is None else text[slice(*found)]


def _find(text: str, pattern: str) -> str:
    return _first(_compiled(pattern), text)


def _find_all(text: str, pattern: str, limit: int = -1) -> list[Any]:
    return list(_compiled(pattern).find_all(text, limit))


def constant_pattern(function: str, pattern: Any) -> Callable[..., Any] | None:
    """A function on text whose pattern is known, or None if it has none. EvaluationError for a bad pattern."""
    if function not in ("matches", "find", "findAll") or type(pattern) is not str:
        return None
    try:
        regex = compile_regex(pattern)
    except PatternError as error:
        raise EvaluationError(str(error)) from None

    def apply(text: Any, pattern: str, *limit: Any) -> Any:
        if type(text) is CelType:
            text = text.name
        if type(text) is not str or any(type(each) is not int for each in limit):
            raise no_such_overload()
        if function == "matches":
            return regex.search(text)
        return _first(regex, text) if function == "find" else list(regex.find_all(text, *limit or (-1,)))

    return apply


def declare_regexes() -> Library:
    """Functions on regular expressions."""
    library = Library()
    library.singleton(
        "matches", _matches, matches="(string, string) -> bool", matches_string="string.(string) -> bool"
    )
    add = library.overload
    add("find", "string.(string) -> string", "string_find_string", _find)
    add("findAll", "string.(string) -> list(string)", "string_find_all_string", _find_all)
    add("findAll", "string.(string, int) -> list(string)", "string_find_all_string_int", _find_all)
    return library
