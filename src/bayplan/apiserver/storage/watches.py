"""Watches: the history of a resource as a stream of events, from any version on.

A watch has no queue, only its position in the history, from which it reads on when it is woken. So a resumed watch
sees what an uninterrupted one sees, a slow client costs no memory, and a client that falls behind the history gets
a 410, as if it had requested a version that is too old.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, Protocol

import msgspec

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.storage.history import Change, CompactedError
from bayplan.apiserver.storage.selection import Selection
from bayplan.apiserver.storage.versioned_store import StoredObject, VersionedStore
from bayplan.apiserver.transport.api_messages import ResponseStream
from bayplan.framework import Clock

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
#: Without changes, a bookmark is sent this often.
BOOKMARK_SECONDS: Final = 60.0
#: A last bookmark is sent this long before the watch ends.
LAST_BOOKMARK_SECONDS: Final = 2.0
#: A stream is sent in pieces of about this many bytes.
_PIECE_BYTES: Final = 1 << 18


class RefusedWatch(ResponseStream):
    """A watch that cannot begin: its only event is the error."""

    def __init__(self, error: StatusError) -> None:
        self._line: bytes | None = b'{"type":"ERROR","object":%b}\n' % msgspec.json.encode(error.body)

    async def __anext__(self) -> bytes:
        line, self._line = self._line, None
        if line is None:
            raise StopAsyncIteration
        return line


class EventEncoder(Protocol):
    """Encodes events for the client: whole objects, metadata only, tables."""

    def event(self, type_: str, entry: StoredObject, data: bytes) -> bytes:
        """An event line; *data* is the object in the version to show."""

    def bookmark(self, version: int, *, initial_events_end: bool) -> bytes: ...

    def expired(self, error: CompactedError) -> bytes:
        """The last line of a watch that cannot continue."""


class Watch(ResponseStream):
    """One client's watch of a resource. Iterate it, or call `read` when `subscribe` calls back."""

    def __init__(
        self,
        store: VersionedStore,
        resource: str,
        selection: Selection,
        frames: EventEncoder,
        clock: Clock,
        *,
        since: int | None,
        initial_events_end: bool = False,
        bookmarks: bool = False,
        timeout_seconds: float,
    ) -> None:
        """*since* None: begin with the current objects as ADDED events, then *initial_events_end* if requested."""
        self._store = store
        self._resource = resource
        self._selection = selection
        self._frames = frames
        self._clock = clock
        self._initial_events_end = initial_events_end
        self._bookmarks = bookmarks
        now = clock.monotonic()
        self._deadline = now + timeout_seconds
        self._next_bookmark = self._bookmark_time(now)
        self._initial: Iterator[StoredObject] | None = None
        if since is None:
            # The list already contains changes that are not yet visible; the watch waits for them.
            self._initial = iter(store.list(resource, selection.namespace))
            since = store.version
        #: Everything up to this version has been processed.
        self.position = since
        #: The latest version that the client knows.
        self._known = since
        self._ended = False
        self._wakeup: asyncio.Future[None] | None = None
        self._timer: asyncio.Task[None] | None = None
        self._unsubscribe: Callable[[], None] | None = store.subscribe(resource, self._wake)

    # --- content ----------------------------------------------------------------------------------

    def read(self) -> bytes:
        """The event lines that are due; empty if there are none."""
        if self._initial is not None:
            initial = b"".join(self._read_initial())
            if initial:
                return initial
        lines: list[bytes] = []
        try:
            size = 0
            for change in self._store.changes_since(self._resource, self.position):
                self.position = change.version
                line = self._line(change)
                if line is not None:
                    lines.append(line)
                    size += len(line)
                    if size > _PIECE_BYTES:
                        break
            else:
                # Nothing else happened up to now: a bookmark may say so.
                self.position = max(self.position, self._store.visible)
        except CompactedError as error:
            lines.append(self._frames.expired(error))
            self._ended = True
        return b"".join(lines)

    def _read_initial(self) -> Iterator[bytes]:
        assert self._initial is not None  # noqa: S101  checked by the caller
        size = 0
        for entry in self._initial:
            if self._selection.matches(entry):
                line = self._frames.event(ADDED, entry, entry.data)
                yield line
                size += len(line)
                if size > _PIECE_BYTES:
                    return
        self._initial = None
        if self._initial_events_end:
            yield self._frames.bookmark(self.position, initial_events_end=True)

    def _line(self, change: Change) -> bytes | None:
        """The change as this watch sees it: an object may enter the selection, or leave it."""
        selection, before, after = self._selection, change.before, change.after
        if selection.namespace and change.key.namespace != selection.namespace:
            return None
        was_seen = before is not None and selection.matches(before)
        if after is not None and selection.matches(after):
            return self._frames.event(MODIFIED if was_seen else ADDED, after, after.data)
        if was_seen and before is not None:
            return self._frames.event(DELETED, before, before.data_at(change.version))
        return None

    # --- timing -----------------------------------------------------------------------------------

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> bytes:
        while not self._ended:
            data = self.read()
            if data:
                self._known = self.position
                return data
            now = self._clock.monotonic()
            if now >= self._deadline:
                break
            if now >= self._next_bookmark:
                self._next_bookmark = self._bookmark_time(now)
                if self.position == self._known:
                    continue  # nothing new to say in a bookmark
                self._known = self.position
                return self._frames.bookmark(self.position, initial_events_end=False)
            await self._sleep(min(self._deadline, self._next_bookmark) - now)
        self.close()
        raise StopAsyncIteration

    def close(self) -> None:
        """End the watch and wake its reader."""
        self._ended = True
        unsubscribe, self._unsubscribe = self._unsubscribe, None
        if unsubscribe is not None:
            unsubscribe()
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        self._wake()

    def _bookmark_time(self, now: float) -> float:
        if not self._bookmarks:
            return self._deadline
        last = self._deadline - LAST_BOOKMARK_SECONDS
        due = min(now + BOOKMARK_SECONDS, last)
        return due if due > now else self._deadline

    async def _sleep(self, seconds: float) -> None:
        """Until something is visible, or *seconds* have passed."""
        self._wakeup = asyncio.get_running_loop().create_future()
        if self._timer is None:
            self._timer = asyncio.create_task(self._clock.sleep(seconds))
            self._timer.add_done_callback(self._timer_done)
        await self._wakeup

    def _timer_done(self, timer: asyncio.Task[None]) -> None:
        if timer is self._timer:
            self._timer = None
        self._wake()

    def _wake(self) -> None:
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_result(None)
