"""klog's text format: header, message and key-value pairs of a line; and a fast path to the stream.

There are lines for every pod, so this part of `klog` can be compiled. The file and line of a message are looked up
in `klog`, which is not.
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
    """A reference to an object by name: klog's KRef."""

    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


# --- a line ---------------------------------------------------------------------------------------


class _Headers:
    """The headers of lines. The parts that change with the second or the process are cached."""

    def __init__(self) -> None:
        self._second = -1
        self._text = ""
        self._pid = ""
        self.note_process()

    def note_process(self) -> None:
        self._pid = f"{os.getpid():7d}"

    def header(self, letter: str, created: float, filename: str, line: int) -> str:
        second = int(created)
        if second != self._second:
            self._second, self._text = second, f"{datetime.fromtimestamp(second):%m%d %H:%M:%S}"
        micros = str(1_000_000 + int(created % 1.0 * 1_000_000))[1:]
        return f"{letter}{self._text}.{micros} {self._pid} {filename}:{line}] "


_headers: Final = _Headers()
os.register_at_fork(after_in_child=_headers.note_process)


def header(letter: str, created: float, filename: str, line: int) -> str:
    """`I1116 00:13:22.668123   12345 attempts.py:80] `; *created* is in seconds since the epoch, shown as local
    time."""
    return _headers.header(letter, created, filename, line)


def format_message(message: str, pairs: Mapping[str, object]) -> str:
    """`"Attempting to schedule pod" pod="default/web"`"""
    text = quote(message)
    for key, value in pairs.items():
        text += f" {key}{_format_value(value)}"
    return text


def _format_value(value: object) -> str:
    """`=value` as klog writes it: strings and objects with a text form are quoted, the rest is JSON."""
    if type(value) is str:
        return _format_string(value)
    if type(value) is int:
        return f"={value}"
    if isinstance(value, KubeObject) or isinstance(value, Ref):  # noqa: SIM101 -- a union would be created each time
        return _format_string(f"{value.namespace}/{value.name}" if value.namespace else value.name)
    as_json = json_value(value)
    return _format_string(as_json) if isinstance(as_json, str) else f"={to_json(as_json)}"


def _format_string(text: str) -> str:
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


def json_value(value: object) -> Any:
    """The value for JSON; Kubernetes objects by name."""
    if isinstance(value, KubeObject | Ref):
        name = {"name": value.name}
        return {**name, "namespace": value.namespace} if value.namespace else name
    if value is None or type(value) in _JSON_TYPES:
        return value
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes):
        return [
            json_value(item) for item in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)
        ]
    return str(value)


#: Exactly these types: a Duration is an int with a text form of its own.
_JSON_TYPES: Final = frozenset({str, bool, int, float})

to_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


# --- the fast path --------------------------------------------------------------------------------


class MinLevel(Protocol):
    """The verbosity of the process: `klog.Verbosity`."""

    level: int


class DirectWriter:
    """Writes lines straight to the stream of *handler*, as `logging` would do in the end. Only as long as no other
    handlers and filters have been added to those of `klog.set_up`."""

    def __init__(self, handler: logging.StreamHandler[TextIO], verbosity: MinLevel) -> None:
        self._root = logging.getLogger()
        self._handler = handler
        self._handlers: list[object] = [handler]
        self._filters: list[object] = [verbosity]
        self._formatter = handler.formatter
        self._lock: AbstractContextManager[object] = handler.lock or nullcontext()
        self._verbosity = verbosity

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
        """False if the line must go through `logging`."""
        if level < self._verbosity.level or level < self._handler.level or not self._is_unchanged(logger):
            return False
        try:
            text = (
                f"{_headers.header('I', created, path.rpartition('/')[2], line)}{format_message(message, pairs)}\n"
            )
            stream = self._handler.stream
            with self._lock:
                stream.write(text)
                stream.flush()
        except Exception:
            return False  # `logging` reports the error
        return True

    def _is_unchanged(self, logger: logging.Logger) -> bool:
        """Whether *logger* and its parents add nothing to what `klog.set_up` made."""
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
