"""klog's text: one line with its head, its message and its pairs; and the short way to the stream.

Every pod is worth a line, so this is the part of `klog` that can be compiled; which file and line a message comes
from is asked in `klog` itself.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol, TextIO

from bayplan.model import KubeObject


class Ref(NamedTuple):
    """An object that is only known by its name: klog's KRef."""

    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


# --- a line ---------------------------------------------------------------------------------------


class _Heads:
    """What heads of lines have in common: most come in the same second as the one before, from one process."""

    def __init__(self) -> None:
        self._second = -1
        self._text = ""
        self._pid = ""
        self.note_process()

    def note_process(self) -> None:
        self._pid = f"{os.getpid():7d}"

    def head(self, letter: str, created: float, filename: str, line: int) -> str:
        second = int(created)
        if second != self._second:
            self._second, self._text = second, f"{datetime.fromtimestamp(second):%m%d %H:%M:%S}"
        micros = str(1_000_000 + int(created % 1.0 * 1_000_000))[1:]
        return f"{letter}{self._text}.{micros} {self._pid} {filename}:{line}] "


_heads: Final = _Heads()
os.register_at_fork(after_in_child=_heads.note_process)


def head(letter: str, created: float, filename: str, line: int) -> str:
    """`I1116 00:13:22.668123   12345 attempts.py:80] `; *created* is in seconds since the epoch, shown as local
    time."""
    return _heads.head(letter, created, filename, line)


def said(message: str, pairs: Mapping[str, object]) -> str:
    """`"Attempting to schedule pod" pod="default/web"`"""
    text = quote(message)
    for key, value in pairs.items():
        text += f" {key}{_text(value)}"
    return text


def _text(value: object) -> str:
    """`=value`, as klog puts it: strings and what prints itself are quoted, the rest is JSON."""
    if type(value) is str:
        return _string(value)
    if type(value) is int:
        return f"={value}"
    if isinstance(value, KubeObject) or isinstance(value, Ref):  # noqa: SIM101 -- a union would be made each time
        return _string(f"{value.namespace}/{value.name}" if value.namespace else value.name)
    as_json = plain(value)
    return _string(as_json) if isinstance(as_json, str) else f"={to_json(as_json)}"


def _string(text: str) -> str:
    if "\n" not in text:
        return f"={quote(text)}"
    body = "".join([f"\t{line}\n" for line in text.removesuffix("\n").split("\n")])
    return f"=<\n{body} >"


def quote(text: str) -> str:
    """Go's strconv.Quote: printable characters as they are."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join([_escaped(char) for char in text]) + '"'


_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# --- values as JSON -------------------------------------------------------------------------------


def plain(value: object) -> Any:
    """The value as JSON has it; objects are their names."""
    if isinstance(value, KubeObject | Ref):
        name = {"name": value.name}
        return {**name, "namespace": value.namespace} if value.namespace else name
    if value is None or type(value) in _JSON_TYPES:
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes):
        return [plain(item) for item in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
    return str(value)


#: Exactly these: a Duration is an int that prints itself.
_JSON_TYPES: Final = frozenset({str, bool, int, float})

to_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


# --- the short way --------------------------------------------------------------------------------


class Shown(Protocol):
    """The verbosity of a process."""

    level: int


class ShortWay:
    """Writes lines to the stream of *handler*, which goes by *shown*: what `logging` would do in the end, as long
    as nobody else has come to listen, or has an eye on what is shown."""

    def __init__(self, handler: logging.StreamHandler[TextIO], shown: Shown) -> None:
        self._root = logging.getLogger()
        self._handler = handler
        self._handlers: list[object] = [handler]
        self._filters: list[object] = [shown]
        self._formatter = handler.formatter
        self._lock: AbstractContextManager[object] = handler.lock or nullcontext()
        self._shown = shown

    def write(
        self,
        logger: logging.Logger,
        level: int,
        created: float,
        path: str,
        line: int,
        message: str,
        pairs: Mapping[str, object],
    ) -> bool:
        """False if the line has to go the long way."""
        if level < self._shown.level or level < self._handler.level or not self._is_clear(logger):
            return False
        try:
            text = f"{_heads.head('I', created, path.rpartition('/')[2], line)}{said(message, pairs)}\n"
            stream = self._handler.stream
            with self._lock:
                stream.write(text)
                stream.flush()
        except Exception:
            return False  # `logging` says what there is to say about it
        return True

    def _is_clear(self, logger: logging.Logger) -> bool:
        """Whether *logger* and those above it add nothing to what `klog.set_up` made."""
        root, handler = self._root, self._handler
        each: logging.Logger | None = logger
        while each is not None and each is not root:
            if each.handlers or each.filters or each.disabled or not each.propagate:
                return False
            each = each.parent
        return (
            root.handlers == self._handlers
            and handler.filters == self._filters
            and handler.formatter is self._formatter
        )
