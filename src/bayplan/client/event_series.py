"""Events, and the series that equal ones are drawn together to: pure, as client-go's tools/events does it.

The first event of its kind is written at once. The second makes it a series, and that is written; from then on
only a count goes up, which is written now and then (refresh) and when nothing has come for a while (finish).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Hashable
from datetime import UTC, datetime
from typing import Any, Final
from zlib import crc32

import msgspec

from bayplan.model import format_time

NOTE_BYTES = 1024  # validation.NoteLengthLimit
_CUT = " ..."
_MOST_BYTES = 4  # of one character
FINISH_SECONDS = 360.0
REFRESH_SECONDS = 1800.0
#: client-go remembers every event of the last six to twelve minutes: too much at a thousand binds a second.
MAX_REMEMBERED = 50_000
#: Within one millisecond each writer has a nanosecond of its own.
NANOSECONDS_OF_WRITERS = 1_000_000
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_LENGTH = 253
_IN_LABELS = b"-0123456789abcdefghijklmnopqrstuvwxyz"


def cut_note(note: str) -> str:
    """At most 1024 bytes of UTF-8; what is longer ends in " ...", and never in half a character."""
    if len(note) <= NOTE_BYTES // _MOST_BYTES:
        return note
    data = note.encode()
    if len(data) <= NOTE_BYTES:
        return note
    return data[: NOTE_BYTES - len(_CUT)].decode(errors="ignore") + _CUT


class EventNumbers:
    """The time in nanoseconds as a part of names: no number is given twice, and writers about the same object have
    different ones even at the same instant, which virtual time knows."""

    def __init__(self, writer: str = "") -> None:
        self._offset = crc32(writer.encode()) % NANOSECONDS_OF_WRITERS
        self._last = 0

    def next(self, now: float) -> int:
        self._last = max(round(now * 1e9) + self._offset, self._last + 1)
        return self._last


def event_name(regarding: str, nanoseconds: int) -> str:
    name = f"{regarding}.{nanoseconds:x}"
    if len(name) <= _SUBDOMAIN_LENGTH and (_is_label(regarding) or _SUBDOMAIN.fullmatch(name)):
        return name
    return str(uuid.uuid4())


def _is_label(name: str) -> bool:
    """As most names are: a subdomain without dots, told in half the time."""
    if not name.isascii() or name.encode().translate(None, _IN_LABELS):
        return False
    return name != "" and name[0] != "-" and name[-1] != "-"


def micro_time(now: float) -> str:
    """A metav1.MicroTime; events come in bursts, so the second is mostly that of the event before."""
    micros: int = round(now * 1e6)
    return f"{_seconds.text(micros // 1_000_000)}.{str(micros % 1_000_000 + 1_000_000)[1:]}Z"


class _Seconds:
    """The text of a time to the second, and that of the one before."""

    def __init__(self) -> None:
        self._second = 0
        self._text = "1970-01-01T00:00:00"

    def text(self, second: int) -> str:
        if second != self._second:
            self._text = format_time(datetime.fromtimestamp(second, UTC)).removesuffix("Z")
            self._second = second
        return self._text


_seconds: Final = _Seconds()


class Occurrence:
    """An event as it was or will be written; tens of thousands are remembered, so it is kept as its JSON."""

    __slots__ = ("count", "data", "last", "name", "namespace")

    def __init__(self, namespace: str, name: str, data: bytes, last: float) -> None:
        self.namespace: Final = namespace
        self.name: Final = name
        self.data: Final = data
        #: When it last happened, in seconds since the epoch.
        self.last = last
        self.count = 1

    @property
    def is_series(self) -> bool:
        return self.count > 1

    def series(self) -> dict[str, Any]:
        return {"count": self.count, "lastObservedTime": micro_time(self.last)}

    def whole(self) -> bytes:
        """The event to create, series included."""
        if not self.is_series:
            return self.data
        return msgspec.json.encode({**msgspec.json.decode(self.data), "series": self.series()})


class Aggregator:
    """Remembers what was told, and says what is to be written."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Occurrence] = {}

    def __len__(self) -> int:
        return len(self._known)

    def known(self, key: Hashable) -> Occurrence | None:
        return self._known.get(key)

    def add(self, key: Hashable, occurrence: Occurrence) -> None:
        """An event of which there is none like it."""
        if len(self._known) >= MAX_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = occurrence

    def again(self, occurrence: Occurrence, now: float) -> bool:
        """It happened once more; whether that makes it a series, to be written now."""
        occurrence.count += 1
        occurrence.last = now
        return occurrence.count == 2

    def series(self) -> list[Occurrence]:
        """All series, to be refreshed."""
        return [each for each in self._known.values() if each.is_series]

    def finish(self, now: float) -> list[Occurrence]:
        """Forget what has not happened for a while; the series among it, to be written a last time."""
        old = {key: each for key, each in self._known.items() if each.last < now - FINISH_SECONDS}
        for key in old:
            del self._known[key]
        return [each for each in old.values() if each.is_series]
