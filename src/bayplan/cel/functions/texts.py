"""Strings: the functions of the language and of the strings extension."""

from __future__ import annotations

from typing import Any

from bayplan.cel.cel_errors import EvaluationError, no_such_overload
from bayplan.cel.checking.declarations import Library
from bayplan.cel.functions.quoting import cel_quote
from bayplan.cel.functions.text_format import format_text
from bayplan.cel.runtime.display import display

#: What Go's unicode.IsSpace says.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_LOWER = {ord(upper): upper.lower() for upper in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_UPPER = {ord(lower): lower.upper() for lower in "abcdefghijklmnopqrstuvwxyz"}


def _two_texts(text: Any, other: Any) -> None:
    if type(text) is not str or type(other) is not str:
        raise no_such_overload()


def _contains(text: Any, other: Any) -> bool:
    _two_texts(text, other)
    return other in text


def _starts_with(text: Any, other: Any) -> bool:
    _two_texts(text, other)
    return bool(text.startswith(other))


def _ends_with(text: Any, other: Any) -> bool:
    _two_texts(text, other)
    return bool(text.endswith(other))


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, other: str, offset: int = 0) -> int:
    if not other:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(other, offset)


def _last_index_of(text: str, other: str, offset: int | None = None) -> int:
    if offset is None:
        if not other:
            return len(text)
        if len(text.encode()) < len(other.encode()):
            return -1
        offset = len(text) - 1
    if not other:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return -1 if offset >= len(text) else text.rfind(other, 0, offset + len(other))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, max(count, -1))


def _split(text: str, separator: str, count: int = -1) -> list[Any]:
    if count == 0:
        return []
    if not separator:
        return _characters(text, count)
    return list(text.split(separator, count - 1 if count > 0 else -1))


def _characters(text: str, count: int) -> list[Any]:
    if count < 0 or count >= len(text):
        return list(text)
    return [*text[: count - 1], text[count - 1 :]]


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, stop):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:stop]


def _join(items: list[Any], separator: str = "") -> str:
    for item in items:
        if type(item) is not str:
            raise EvaluationError(f"join: invalid input: {display(item)}")
    return separator.join(items)


def declare_texts() -> Library:
    """Functions on strings."""
    library = Library()
    add = library.overload
    for name, id, function in (
        ("contains", "contains_string", _contains),
        ("endsWith", "ends_with_string", _ends_with),
        ("startsWith", "starts_with_string", _starts_with),
    ):
        add(name, "string.(string) -> bool", id, function)
        library.functions[name].unguarded = True
    add("charAt", "string.(int) -> string", "string_char_at_int", _char_at)
    add("indexOf", "string.(string) -> int", "string_index_of_string", _index_of)
    add("indexOf", "string.(string, int) -> int", "string_index_of_string_int", _index_of)
    add("lastIndexOf", "string.(string) -> int", "string_last_index_of_string", _last_index_of)
    add("lastIndexOf", "string.(string, int) -> int", "string_last_index_of_string_int", _last_index_of)
    add("lowerAscii", "string.() -> string", "string_lower_ascii", lambda text: text.translate(_LOWER))
    add("upperAscii", "string.() -> string", "string_upper_ascii", lambda text: text.translate(_UPPER))
    add("replace", "string.(string, string) -> string", "string_replace_string_string", _replace)
    add("replace", "string.(string, string, int) -> string", "string_replace_string_string_int", _replace)
    add("split", "string.(string) -> list(string)", "string_split_string", _split)
    add("split", "string.(string, int) -> list(string)", "string_split_string_int", _split)
    add("substring", "string.(int) -> string", "string_substring_int", _substring)
    add("substring", "string.(int, int) -> string", "string_substring_int_int", _substring)
    add("trim", "string.() -> string", "string_trim", lambda text: text.strip(_SPACE))
    add("format", "string.(list(dyn)) -> string", "string_format", format_text)
    add("strings.quote", "(string) -> string", "strings_quote", cel_quote)
    add("join", "list(string).() -> string", "list_join", _join)
    add("join", "list(string).(string) -> string", "list_join_string", _join)
    return library
