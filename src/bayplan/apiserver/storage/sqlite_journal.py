"""The store on disk: every change is a row in SQLite, and a write is acknowledged after its commit.

    changes(version, resource, namespace, name, data, fields)    data is NULL for a deletion
    floors(resource, version)                                    up to where a resource's history is dropped

A row stays while its state is current or in the history, so a start restores both and watchers resume as if the
process had never stopped. Writes are committed in groups: while one group is being committed in a thread, the next
one is collected.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from bayplan.apiserver.storage.history import Change
from bayplan.apiserver.storage.versioned_store import Key, StoredObject, VersionedStore

log = logging.getLogger("bayplan.apiserver")

FILE_NAME: Final = "store.db"
#: The schema version of the file; a file with another one is not touched.
_FORMAT_VERSION: Final = 1
_SCHEMA: Final = """
CREATE TABLE changes (
    version INTEGER PRIMARY KEY, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    data BLOB, fields BLOB
);
CREATE TABLE floors (resource TEXT PRIMARY KEY, version INTEGER NOT NULL);
"""
_INSERT: Final = "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?)"
_RAISE_FLOOR: Final = (
    "INSERT INTO floors VALUES (?, ?) ON CONFLICT (resource) DO UPDATE SET version = excluded.version"
)


class JournalError(Exception):
    """The folder cannot be used; the message says why."""


class _Labels(msgspec.Struct):
    labels: dict[str, str] = {}


class _Labelled(msgspec.Struct):
    metadata: _Labels


_labels_of = msgspec.json.Decoder(_Labelled).decode
_fields_of = msgspec.json.Decoder(dict[str, str]).decode
_encode = msgspec.json.Encoder().encode


class JournalBatch(NamedTuple):
    """Changes that are committed together."""

    changes: list[Change]
    dropped: list[Change]
    version: int


class SqliteJournal:
    """The SQLite file. `record` and `forget` collect, `write` commits; `write` may run in another thread."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._database = _open(folder / FILE_NAME)
        except (OSError, sqlite3.Error) as error:
            raise JournalError(f"cannot use {folder}: {_reason(error)}") from None
        self._changes: list[Change] = []
        self._dropped: list[Change] = []

    # --- while running ----------------------------------------------------------------------------

    def record(self, change: Change) -> None:
        self._changes.append(change)

    def forget(self, changes: Iterable[Change]) -> None:
        self._dropped.extend(changes)

    def take(self) -> JournalBatch:
        """The collected changes."""
        changes, self._changes = self._changes, []
        dropped, self._dropped = self._dropped, []
        return JournalBatch(changes, dropped, changes[-1].version if changes else 0)

    @property
    def is_empty(self) -> bool:
        return not self._changes

    def write(self, batch: JournalBatch) -> None:
        """Commit; when this returns, the batch survives a crash."""
        with self._database as database:
            database.execute("BEGIN")
            database.executemany(_INSERT, map(_row, batch.changes))
            if batch.dropped:
                database.executemany("DELETE FROM changes WHERE version = ?", _superseded(batch.dropped))
                floors = {change.key.resource: change.version for change in batch.dropped}
                database.executemany(_RAISE_FLOOR, floors.items())

    def close(self) -> None:
        self._database.close()

    # --- start ------------------------------------------------------------------------------------

    def restore(self, store: VersionedStore) -> None:
        """Restore the store to the end of the journal."""
        floors = dict(self._database.execute("SELECT resource, version FROM floors"))
        current: dict[Key, StoredObject] = {}
        entries, changes, version = [], [], max(floors.values(), default=1)
        for entry in self._rows():
            version = max(version, entry.version)
            if entry.version <= floors.get(entry.key.resource, 0):
                entries.append(entry)
            else:
                after = entry if entry.data else None
                changes.append(Change(entry.version, current.get(entry.key), after))
            if entry.data:
                current[entry.key] = entry
            else:
                current.pop(entry.key, None)
        store.restore(entries, changes, floors=floors, version=version)

    def _rows(self) -> Iterator[StoredObject]:
        for version, resource, namespace, name, data, fields in self._database.execute(
            "SELECT version, resource, namespace, name, data, fields FROM changes ORDER BY version"
        ):
            key = Key(resource, namespace, name)
            if data is None:
                yield StoredObject(key, version, b"", {}, {})
            else:
                labels = _labels_of(data).metadata.labels
                yield StoredObject(key, version, data, labels, _fields_of(fields) if fields else {})


def _open(file: Path) -> sqlite3.Connection:
    # Only for the owner, since it contains Secrets; SQLite gives its other files the same mode.
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    database = sqlite3.connect(file, isolation_level=None, check_same_thread=False, timeout=1.0)
    with contextlib.ExitStack() as undo:
        undo.callback(database.close)
        # Locked by one process for as long as it runs.
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        (found,) = database.execute("PRAGMA user_version").fetchone()
        if found not in (0, _FORMAT_VERSION):
            raise JournalError(
                f"{file} was written by a newer version of bayplan (format {found}, supported: {_FORMAT_VERSION})"
            )
        if found == 0:
            database.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version = {_FORMAT_VERSION};COMMIT;")
        undo.pop_all()
    return database


def _reason(error: Exception) -> str:
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return "another process uses it"
    return getattr(error, "strerror", None) or str(error)


def _row(change: Change) -> tuple[int, str, str, str, bytes | None, bytes | None]:
    after = change.after
    if after is None:
        return (change.version, *change.key, None, None)
    return (change.version, *change.key, after.data, _encode(after.fields) if after.fields else None)


def _superseded(dropped: Iterable[Change]) -> Iterator[tuple[int]]:
    """Rows that are not needed any more: replaced states and deletions."""
    for change in dropped:
        if change.before is not None:
            yield (change.before.version,)
        if change.after is None:
            yield (change.version,)


class GroupCommit:
    """Group commit: responses wait here until the changes they report are on disk."""

    def __init__(self, store: VersionedStore, journal: SqliteJournal) -> None:
        self._store = store
        self._journal = journal
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        #: Callbacks by version, in order: called when everything up to it is on disk.
        self._waiting: list[tuple[int, Callable[[], None]]] = []
        self._writing = False
        #: Why nothing can be written any more.
        self.failure: Exception | None = None

    def when_durable(self, then: Callable[[], None]) -> None:
        """Call *then* once everything up to now is on disk, or cannot be written: then there is a `failure`."""
        if self.failure is not None or self._store.visible == self._store.version:
            then()
            return
        self._waiting.append((self._store.version, then))
        if not self._writing:
            self._writing = True
            # Changes of the same loop iteration go into the same group.
            asyncio.get_running_loop().call_soon(self._write)

    async def durable(self) -> None:
        """Wait until everything up to now is on disk, or there is a `failure`."""
        done = asyncio.get_running_loop().create_future()
        self.when_durable(lambda: None if done.done() else done.set_result(None))
        await done

    def _write(self) -> None:
        batch = self._journal.take()
        loop = asyncio.get_running_loop()
        writing = loop.run_in_executor(self._thread, self._journal.write, batch)
        writing.add_done_callback(lambda done: self._written(batch, done))

    def _written(self, batch: JournalBatch, done: asyncio.Future[None]) -> None:
        error = done.exception()
        if error is not None:
            self.failure = error if isinstance(error, Exception) else RuntimeError(str(error))
            log.critical("the journal cannot be written, so nothing is served any more: %s", error)
            waiting, self._waiting = self._waiting, []
            for _, then in waiting:
                then()
            return
        self._show(batch)
        if self._waiting or not self._journal.is_empty:
            self._write()
        else:
            self._writing = False

    def _show(self, batch: JournalBatch) -> None:
        self._store.show(batch.changes, batch.version)
        while self._waiting and self._waiting[0][0] <= batch.version:
            self._waiting.pop(0)[1]()

    def close(self) -> None:
        """Write pending changes and close the file."""
        self._thread.shutdown(wait=True)
        if self.failure is None and not self._journal.is_empty:
            batch = self._journal.take()
            self._journal.write(batch)
            self._show(batch)
        self._journal.close()
