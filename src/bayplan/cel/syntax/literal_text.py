"""What a literal in the source stands for: strings and bytes with their escapes, and numbers."""

from __future__ import annotations

import re

from bayplan.cel.runtime.cel_values import Uint

_MAX_INT = 2**63 - 1
_MAX_UINT = 2**64 - 1
_MAX_CODE_POINT = 0x10FFFF
_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_ESCAPE = re.compile(r"\\([xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)


class LiteralError(ValueError):
    """A literal that stands for nothing."""


def read_string(token: str) -> str:
    """The value of a string literal. Raises LiteralError."""
    text, raw = _unquoted(token)
    return text if raw or "\\" not in text else _ESCAPE.sub(_character, text)


def read_bytes(token: str) -> bytes:
    """The value of a bytes literal. Raises LiteralError."""
    text, raw = _unquoted(token[1:])
    if raw or "\\" not in text:
        return text.encode()
    parts: list[bytes] = []
    end = 0
    for found in _ESCAPE.finditer(text):
        parts.append(text[end : found.start()].encode())
        parts.append(_octets(found[1]))
        end = found.end()
    return b"".join([*parts, text[end:].encode()])


def _unquoted(token: str) -> tuple[str, bool]:
    """The text between the quotes, and whether it is to be taken as it is."""
    text = token.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    width = 3 if len(text) >= 6 and text[:3] in ("'''", '"""') else 1
    return text[width:-width], raw


def _character(found: re.Match[str]) -> str:
    escape = found[1]
    if escape in _SIMPLE:
        return _SIMPLE[escape]
    code = int(escape[1:], 16) if escape[0] in "xXuU" else int(escape, 8)
    if code > _MAX_CODE_POINT or 0xD800 <= code <= 0xDFFF:
        raise LiteralError("invalid unicode code point")
    return chr(code)


def _octets(escape: str) -> bytes:
    if escape in _SIMPLE:
        return _SIMPLE[escape].encode()
    if escape[0] in "uU":
        raise LiteralError("unable to unescape string")
    return bytes((int(escape[1:], 16) if escape[0] in "xX" else int(escape, 8),))


def read_int(text: str, *, negative: bool) -> int:
    """The value of an int literal. Raises LiteralError."""
    number = int(text[2:], 16) if text.startswith("0x") else _decimal(text)
    number = -number if negative else number
    if not -_MAX_INT - 1 <= number <= _MAX_INT:
        raise LiteralError("invalid int literal")
    return number


def read_uint(text: str) -> Uint:
    """The value of a uint literal, which ends in u. Raises LiteralError."""
    digits = text[:-1]
    number = int(digits[2:], 16) if digits.startswith("0x") else _decimal(digits)
    if number > _MAX_UINT:
        raise LiteralError("invalid uint literal")
    return Uint(number)


def read_double(text: str, *, negative: bool) -> float:
    """The value of a double literal. Raises LiteralError."""
    number = float(text)
    if number == float("inf"):
        raise LiteralError("invalid double literal")
    return -number if negative else number


def _decimal(text: str) -> int:
    """The number, or one that is too large for any type."""
    digits = text.lstrip("0") or "0"
    return int(digits) if len(digits) <= 20 else _MAX_UINT + 1
