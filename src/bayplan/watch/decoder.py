"""Sans-I/O decoder of a watch stream.

In: chunks of bytes. Out: events. The API server writes one JSON object per line. An event's object stays bytes, so
that it is decoded once, by its own kind, into typed fields.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"

#: etcd stores objects of 1.5 MB at most, so no event is this long.
MAX_EVENT_BYTES: Final = 32 << 20


class WatchError(ValueError):
    """The stream is not a valid watch."""


class WatchEvent(NamedTuple):
    """What happened, and the object's JSON: the whole object, or for ERROR a metav1.Status."""

    type: str
    object: bytes


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class ObjectHead(msgspec.Struct, rename="camel"):
    """The fields of any object that identify it."""

    class Meta(msgspec.Struct, rename="camel"):
        name: str = ""
        namespace: str = ""
        resource_version: str = ""

    metadata: Meta = msgspec.field(default_factory=Meta)

    @property
    def key(self) -> str:
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_head = msgspec.json.Decoder(ObjectHead).decode


def read_head(data: bytes) -> ObjectHead:
    """Name and resourceVersion of an object; empty if they cannot be read."""
    try:
        return _decode_head(data)
    except msgspec.DecodeError:
        return ObjectHead()


class WatchDecoder:
    """Joins chunks into lines, and decodes lines into events."""

    def __init__(self) -> None:
        #: The start of a line whose end has not arrived yet.
        self._pending: list[bytes] = []
        self._pending_size = 0

    def feed(self, data: bytes) -> list[WatchEvent]:
        """The events that *data* completes, in order. Raises WatchError."""
        head, newline, rest = data.rpartition(b"\n")
        if not newline:
            self._buffer(rest)
            return []
        if self._pending:
            head = b"".join((*self._pending, head))
            self._pending, self._pending_size = [], 0
        if rest:
            self._buffer(rest)
        return [_event(line) for line in head.split(b"\n") if line and not line.isspace()]

    def finish(self) -> None:
        """The stream has ended. Raises WatchError if that was in the middle of an event."""
        if b"".join(self._pending).strip():
            raise WatchError(f"the watch ended in the middle of an event, after {self._pending_size} bytes of it")

    def _buffer(self, data: bytes) -> None:
        self._pending.append(data)
        self._pending_size += len(data)
        if self._pending_size > MAX_EVENT_BYTES:
            raise WatchError(f"an event of more than {MAX_EVENT_BYTES} bytes")


def _event(line: bytes) -> WatchEvent:
    try:
        decoded = _decode_line(line)
    except msgspec.DecodeError as error:
        raise WatchError(f"not a watch event: {error}: {line[:200]!r}") from None
    return WatchEvent(decoded.type, bytes(decoded.object))
