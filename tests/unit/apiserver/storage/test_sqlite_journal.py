"""The journal: a store continues where the last one ended, and commits in groups."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.storage.history import CompactedError
from bayplan.apiserver.storage.sqlite_journal import FILE_NAME, GroupCommit, JournalError, SqliteJournal
from bayplan.apiserver.storage.versioned_store import Key, VersionedStore
from bayplan.apiserver.transport.api_messages import ApiRequest, ApiResponse
from bayplan.testing import VirtualClock

OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["configmaps", "secrets"]), st.sampled_from("abc"), st.none() | st.integers(0, 3)),
    max_size=40,
)


def open_store(folder: Path, *, history_limit: int = 1000) -> tuple[VersionedStore, SqliteJournal]:
    store, journal = VersionedStore(VirtualClock(), history_limit=history_limit), SqliteJournal(folder)
    journal.restore(store)
    store.use_journal(journal)
    return store, journal


def do(store: VersionedStore, resource: str, name: str, value: int | None) -> None:
    key = Key(resource, "s", name)
    if value is not None:
        metadata = {"name": name, "namespace": "s", "labels": {"v": str(value)}}
        store.put(key, {"metadata": metadata, "data": {"v": str(value)}}, {"f": str(value)})
    elif store.get(key) is not None:
        store.delete(key)


def commit(store: VersionedStore, journal: SqliteJournal) -> None:
    batch = journal.take()
    journal.write(batch)
    if batch.changes:
        store.show(batch.changes, batch.version)


@settings(max_examples=40)
@given(operations=OPERATIONS, history_limit=st.integers(4, 20), every=st.integers(1, 10))
def test_a_restart_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    operations: list[tuple[str, str, int | None]],
    history_limit: int,
    every: int,
) -> None:
    """Objects, version and history are the same after a restart, whatever was compacted."""
    folder = tmp_path_factory.mktemp("data")
    store, journal = open_store(folder, history_limit=history_limit)
    for i, operation in enumerate(operations):
        do(store, *operation)
        if i % every == 0:
            commit(store, journal)
    commit(store, journal)
    journal.close()

    again, second = open_store(folder, history_limit=history_limit)
    second.close()

    assert again.version == store.version
    for resource in ("configmaps", "secrets"):
        assert again.list(resource) == store.list(resource)
        for version in range(1, store.version + 1):
            assert told(again, resource, version) == told(store, resource, version)


def told(store: VersionedStore, resource: str, version: int) -> object:
    try:
        return store.changes_since(resource, version)
    except CompactedError as error:
        return str(error)


def test_compacted_changes_leave_the_file(tmp_path: Path) -> None:
    """A lease that is renewed for days needs no more space than its history."""
    store, journal = open_store(tmp_path, history_limit=8)
    for i in range(200):
        do(store, "configmaps", "a", i % 2)
        commit(store, journal)
    rows = journal._database.execute("SELECT count(*) FROM changes").fetchone()[0]
    journal.close()

    assert rows <= 9


def test_one_process_at_a_time(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path)
    with pytest.raises(JournalError, match="another process uses it"):
        SqliteJournal(tmp_path)
    journal.close()


def test_a_file_of_a_newer_format_is_not_touched(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute("PRAGMA user_version = 99")
    database.close()

    with pytest.raises(JournalError, match=r"written by a newer version of bayplan \(format 99, supported: 1\)"):
        SqliteJournal(tmp_path)


def test_a_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(JournalError, match=r"cannot use .*data"):
        SqliteJournal(tmp_path / "data")


def test_the_file_is_private(tmp_path: Path) -> None:
    """It contains Secrets, and others may have access to the folder."""
    store, journal = open_store(tmp_path)
    do(store, "secrets", "a", 1)
    commit(store, journal)
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
    journal.close()


@pytest.mark.asyncio
async def test_nothing_is_visible_before_it_is_on_disk(tmp_path: Path) -> None:
    """Watchers are woken, and responses sent, after the commit."""
    store, journal = open_store(tmp_path)
    commits = GroupCommit(store, journal)
    order: list[str] = []
    store.subscribe("configmaps", lambda: order.append("woken"))
    do(store, "configmaps", "a", 1)
    commits.when_durable(lambda: order.append("answered"))
    assert store.changes_since("configmaps", 1) == []
    assert order == []
    await commits.durable()
    commits.close()

    assert order == ["woken", "answered"]
    assert len(store.changes_since("configmaps", 1)) == 1


@pytest.mark.asyncio
async def test_concurrent_writes_are_one_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one group is being written, the next one is collected."""
    store, journal = open_store(tmp_path)
    groups: list[int] = []
    write = journal.write

    def counted(batch: object) -> None:
        groups.append(len(batch.changes))  # type: ignore[attr-defined]
        write(batch)  # type: ignore[arg-type]

    monkeypatch.setattr(journal, "write", counted)
    commits = GroupCommit(store, journal)

    async def one(i: int) -> None:
        do(store, "configmaps", f"n{i}", 1)
        await commits.durable()

    await asyncio.gather(*(one(i) for i in range(10)))
    commits.close()

    assert groups == [10]


@pytest.mark.asyncio
async def test_a_failing_disk_fails_all_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes that are only in memory must not be reported: waiting and later requests get the error."""
    server = ApiServer(VirtualClock(), tmp_path)
    path = "/api/v1/namespaces/default/configmaps"
    assert (await server.durable(server.handle(ApiRequest("GET", path)))).status == 200
    commits = server._commits
    assert commits is not None

    def fail(batch: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(commits._journal, "write", fail)
    answers: list[ApiResponse] = []
    made = server.handle(ApiRequest("POST", path, body=b'{"metadata":{"name":"a"}}'))
    server.when_durable(made, answers.append)
    answers.append(await server.durable(made))
    later = server.handle(ApiRequest("GET", path))
    server.when_durable(later, answers.append)
    server.close()

    assert [answer.status for answer in answers] == [500, 500, 500]
    assert all(b"No space left on device" in answer.body for answer in answers)
