"""Names, times and notes of events, and the series that equal events are aggregated into. No I/O.

As client-go's tools/events: the first event is written at once. The second one makes it a series, which is written
too; from then on only a count goes up, which is written from time to time (refresh) and when the series ends.
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
_ELLIPSIS = " ..."
_MAX_CHARACTER_BYTES = 4
#: A series ends after this long without another event.
FINISH_SECONDS = 360.0
REFRESH_SECONDS = 1800.0
#: client-go remembers every event of the last six to twelve minutes: too much at a thousand binds a second.
MAX_TRACKED = 50_000
#: Writers in one process are told apart by nanoseconds within a millisecond.
_WRITER_OFFSETS = 1_000_000
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_LENGTH = 253
_LABEL_CHARACTERS = b"-0123456789abcdefghijklmnopqrstuvwxyz"


def truncate_note(note: str) -> str:
    """At most 1024 bytes of UTF-8; a longer note ends in " ...", never in half a character."""
    if len(note) <= NOTE_BYTES // _MAX_CHARACTER_BYTES:
        return note
    data = note.encode()
    if len(data) <= NOTE_BYTES:
        return note
    return data[: NOTE_BYTES - len(_ELLIPSIS)].decode(errors="ignore") + _ELLIPSIS


class UniqueTimestamps:
    """The time in nanoseconds, as a part of event names: never the same number twice.

    Different writers get different numbers for the same instant, which is common in virtual time.
    """

    def __init__(self, writer: str = "") -> None:
        self._offset = crc32(writer.encode()) % _WRITER_OFFSETS
        self._last = 0

    def next(self, now: float) -> int:
        self._last = max(round(now * 1e9) + self._offset, self._last + 1)
        return self._last


def event_name(regarding: str, nanoseconds: int) -> str:
    """The name of an event about the object called *regarding*; a random one if that makes no valid name."""
    name = f"{regarding}.{nanoseconds:x}"
    if len(name) <= _SUBDOMAIN_LENGTH and (_is_label(regarding) or _SUBDOMAIN.fullmatch(name)):
        return name
    return str(uuid.uuid4())


def _is_label(name: str) -> bool:
    """Whether *name* is a subdomain without dots, as most names are: twice as fast as the regular expression."""
    if not name.isascii() or name.encode().translate(None, _LABEL_CHARACTERS):
        return False
    return name != "" and name[0] != "-" and name[-1] != "-"


def micro_time(now: float) -> str:
    """A metav1.MicroTime."""
    micros: int = round(now * 1e6)
    return f"{_seconds.text(micros // 1_000_000)}.{str(micros % 1_000_000 + 1_000_000)[1:]}Z"


class _FormattedSeconds:
    """Formats times to the second. Events come in bursts, so the last result is cached."""

    def __init__(self) -> None:
        self._second = 0
        self._text = "1970-01-01T00:00:00"

    def text(self, second: int) -> str:
        if second != self._second:
            self._text = format_time(datetime.fromtimestamp(second, UTC)).removesuffix("Z")
            self._second = second
        return self._text


_seconds: Final = _FormattedSeconds()


class TrackedEvent:
    """An event that was or will be written, as JSON: it needs less memory, and tens of thousands are tracked."""

    __slots__ = ("count", "data", "last_seen", "name", "namespace")

    def __init__(self, namespace: str, name: str, data: bytes, last_seen: float) -> None:
        self.namespace: Final = namespace
        self.name: Final = name
        self.data: Final = data
        #: In seconds since the epoch.
        self.last_seen = last_seen
        self.count = 1

    @property
    def is_series(self) -> bool:
        return self.count > 1

    def series(self) -> dict[str, Any]:
        return {"count": self.count, "lastObservedTime": micro_time(self.last_seen)}

    def body(self) -> bytes:
        """The event to create, with its series."""
        if not self.is_series:
            return self.data
        return msgspec.json.encode({**msgspec.json.decode(self.data), "series": self.series()})


class EventAggregator:
    """Remembers recent events, and says what has to be written."""

    def __init__(self) -> None:
        #: The oldest first.
        self._events: dict[Hashable, TrackedEvent] = {}

    def get(self, key: Hashable) -> TrackedEvent | None:
        return self._events.get(key)

    def add(self, key: Hashable, event: TrackedEvent) -> None:
        """Track an event with a new *key*; the oldest one is forgotten if there are too many."""
        if len(self._events) >= MAX_TRACKED:
            del self._events[next(iter(self._events))]
        self._events[key] = event

    def repeat(self, event: TrackedEvent, now: float) -> bool:
        """It has happened again; whether that makes it a series, which has to be written now."""
        event.count += 1
        event.last_seen = now
        return event.count == 2

    def series(self) -> list[TrackedEvent]:
        """All series, to be refreshed."""
        return [each for each in self._events.values() if each.is_series]

    def remove_finished(self, now: float) -> list[TrackedEvent]:
        """Forget events that have not happened for a while; the series among them, to be written a last time."""
        finished = {key: each for key, each in self._events.items() if each.last_seen < now - FINISH_SECONDS}
        for key in finished:
            del self._events[key]
        return [each for each in finished.values() if each.is_series]
