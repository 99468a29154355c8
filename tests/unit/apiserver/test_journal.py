"""The journal: a store that begins where the last one ended, and commits in groups."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.apiserver.exchange import Request, Response
from bayplan.apiserver.history import ExpiredError
from bayplan.apiserver.journal import FILE_NAME, Commits, Journal, JournalError
from bayplan.apiserver.server import ApiServer
from bayplan.apiserver.store import Key, Store
from bayplan.testing import VirtualClock

OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["configmaps", "secrets"]), st.sampled_from("abc"), st.none() | st.integers(0, 3)),
    max_size=40,
)


def open_store(folder: Path, *, history_limit: int = 1000) -> tuple[Store, Journal]:
    store, journal = Store(VirtualClock(), history_limit=history_limit), Journal(folder)
    journal.restore(store)
    store.keep_in(journal)
    return store, journal


def do(store: Store, resource: str, name: str, value: int | None) -> None:
    key = Key(resource, "s", name)
    if value is not None:
        metadata = {"name": name, "namespace": "s", "labels": {"v": str(value)}}
        store.put(key, {"metadata": metadata, "data": {"v": str(value)}}, {"f": str(value)})
    elif store.get(key) is not None:
        store.delete(key)


def commit(store: Store, journal: Journal) -> None:
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
    """Objects, version, history and where it begins are the same after a restart, whatever was forgotten."""
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


def told(store: Store, resource: str, version: int) -> object:
    try:
        return store.changes_since(resource, version)
    except ExpiredError as error:
        return str(error)


def test_forgotten_changes_leave_the_file(tmp_path: Path) -> None:
    """A lease that is renewed for days needs no more room than its history."""
    store, journal = open_store(tmp_path, history_limit=8)
    for i in range(200):
        do(store, "configmaps", "a", i % 2)
        commit(store, journal)
    rows = journal._database.execute("SELECT count(*) FROM changes").fetchone()[0]
    journal.close()

    assert rows <= 9


def test_one_process_at_a_time(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with pytest.raises(JournalError, match="another process uses it"):
        Journal(tmp_path)
    journal.close()


def test_a_file_of_the_future_is_not_touched(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute("PRAGMA user_version = 99")
    database.close()

    with pytest.raises(JournalError, match=r"written by a newer version of bayplan \(form 99, we know 1\)"):
        Journal(tmp_path)


def test_a_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(JournalError, match=r"cannot use .*data"):
        Journal(tmp_path / "data")


def test_the_file_is_ours_alone(tmp_path: Path) -> None:
    """Secrets are in it, and the folder may be anybody's."""
    store, journal = open_store(tmp_path)
    do(store, "secrets", "a", 1)
    commit(store, journal)
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
    journal.close()


@pytest.mark.asyncio
async def test_nothing_is_visible_before_it_is_on_disk(tmp_path: Path) -> None:
    """Watchers are woken, and answers let go, after the commit."""
    store, journal = open_store(tmp_path)
    commits = Commits(store, journal)
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
async def test_writes_of_one_moment_are_one_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a group is being written, the next one gathers."""
    store, journal = open_store(tmp_path)
    groups: list[int] = []
    write = journal.write

    def counted(batch: object) -> None:
        groups.append(len(batch.changes))  # type: ignore[attr-defined]
        write(batch)  # type: ignore[arg-type]

    monkeypatch.setattr(journal, "write", counted)
    commits = Commits(store, journal)

    async def one(i: int) -> None:
        do(store, "configmaps", f"n{i}", 1)
        await commits.durable()

    await asyncio.gather(*(one(i) for i in range(10)))
    commits.close()

    assert groups == [10]


@pytest.mark.asyncio
async def test_a_failing_disk_is_told_to_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in memory only must not be told: those who wait and those who come later hear why."""
    server = ApiServer(VirtualClock(), tmp_path)
    path = "/api/v1/namespaces/default/configmaps"
    assert (await server.durable(server.handle(Request("GET", path)))).status == 200
    commits = server._commits
    assert commits is not None

    def fail(batch: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(commits._journal, "write", fail)
    answers: list[Response] = []
    made = server.handle(Request("POST", path, body=b'{"metadata":{"name":"a"}}'))
    server.when_durable(made, answers.append)
    answers.append(await server.durable(made))
    later = server.handle(Request("GET", path))
    server.when_durable(later, answers.append)
    server.close()

    assert [answer.status for answer in answers] == [500, 500, 500]
    assert all(b"No space left on device" in answer.body for answer in answers)
