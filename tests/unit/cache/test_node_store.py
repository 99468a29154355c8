"""Rows of nodes, change logs and what-ifs."""

from __future__ import annotations

from contextlib import suppress

import pytest

from bayplan.cache.node_store import MAX_LOG_LENGTH, ChangeLog, NodeStore, WhatIf
from bayplan.model import HostPort, Pod
from bayplan.testing import make_node, make_pod


@pytest.fixture
def store() -> NodeStore:
    """Nodes a, b and c in rows 0, 1 and 2."""
    store = NodeStore()
    for name in "abc":
        store.set_node(make_node(name))
    return store


def with_port(name: str, port: int) -> Pod:
    return make_pod(name, spec={"containers": [{"name": "c", "ports": [{"hostPort": port}]}]})


def changed_since(log: ChangeLog, position: int) -> list[int] | None:
    rows = log.since(position)
    return None if rows is None else sorted(rows.tolist())


def test_log_tells_distinct_rows_since_a_position() -> None:
    log = ChangeLog()
    log.append(3)
    position = log.position
    for row in (1, 2, 1):
        log.append(row)
    assert changed_since(log, position) == [1, 2]
    assert changed_since(log, log.position) == []
    log.append(7)
    assert changed_since(log, position) == [1, 2, 7]


def test_log_tells_the_only_row() -> None:
    """Exactly one entry, not one distinct row."""
    log = ChangeLog()
    position = log.position
    assert log.only_since(position) == -1
    log.append(5)
    assert log.only_since(position) == 5
    log.append(5)
    assert log.only_since(position) == -1


def test_reader_far_behind_starts_over() -> None:
    """The log is bounded; the newer half of it is kept."""
    log = ChangeLog()
    for _ in range(MAX_LOG_LENGTH + 1):
        log.append(0)
    assert log.since(0) is None
    assert changed_since(log, MAX_LOG_LENGTH // 2) == [0]


def test_reset_makes_every_reader_start_over() -> None:
    log = ChangeLog()
    log.append(1)
    position = log.position
    log.reset()
    assert log.since(position) is None
    assert log.only_since(position) == -1
    assert changed_since(log, log.position) == []


def test_many_changed_rows_are_not_few() -> None:
    """Up to a quarter of the rows are refreshed; beyond that all are recomputed."""
    log = ChangeLog()
    log.append(0)
    log.append(1)
    assert log.few_since(0, 8) is not None
    assert log.few_since(0, 7) is None


def test_last_node_takes_the_row_of_a_removed_one(store: NodeStore) -> None:
    version = store.node_set_version
    store.add_pod(2, make_pod("p", cpu="1"))
    position = store.node_changes.position
    assert store.remove_node("a") == []
    assert store.row_of == {"c": 0, "b": 1}
    assert store.names.data[:3].tolist() == ["c", "b", ""]
    assert store.resources.requested["cpu"].data[:3].tolist() == [1000, 0, 0]
    assert store.node_set_version != version
    assert store.node_changes.since(position) is None


def test_changes_are_logged_by_what_they_concern(store: NodeStore) -> None:
    logs = (store.node_changes, store.usage_changes, store.amount_changes)

    def logged(before: list[int]) -> list[bool]:
        return [log.position > position for log, position in zip(logs, before, strict=True)]

    def positions() -> list[int]:
        return [log.position for log in logs]

    before = positions()
    store.set_node(make_node("a", cpu="8"))
    assert logged(before) == [True, True, True]
    before = positions()
    store.add_pod(0, pod := make_pod("p"))
    assert logged(before) == [False, True, True]
    before = positions()
    store.replace_pod(0, pod)
    assert logged(before) == [False, True, False]
    before = positions()
    store.remove_pod(0, pod)
    assert logged(before) == [False, True, True]


def test_every_change_is_another_generation(store: NodeStore) -> None:
    pod = make_pod("p")
    seen = [store.generation]
    for change in (
        lambda: store.set_node(make_node("a")),
        lambda: store.add_pod(0, pod),
        lambda: store.replace_pod(0, pod),
        lambda: store.remove_pod(0, pod),
        lambda: store.remove_node("a"),
    ):
        change()
        seen.append(store.generation)
    assert len(set(seen)) == len(seen)


def test_what_if_restores_the_order_of_pods(store: NodeStore) -> None:
    first, second = make_pod("first"), make_pod("second")
    store.add_pod(0, first)
    store.add_pod(0, second)
    with WhatIf(store) as what_if:
        what_if.remove(0, first)
        what_if.add(0, make_pod("third"))
        what_if.add(1, first)
        assert [pod.name for pod in store.pods[0].values()] == ["second", "third"]
    assert [pod.name for pod in store.pods[0].values()] == ["first", "second"]
    assert store.pods[1] == {}


def test_what_if_restores_a_shared_port(store: NodeStore) -> None:
    """Removing one of two pods with the same port frees it; afterwards it is in use again."""
    one, other = with_port("one", 80), with_port("other", 80)
    store.add_pod(0, one)
    store.add_pod(0, other)
    wanted = [HostPort("0.0.0.0", "TCP", 80)]  # noqa: S104
    with WhatIf(store) as what_if:
        what_if.remove(0, one)
        assert not store.ports.taken(wanted, 3).any()
    assert store.ports.taken(wanted, 3).tolist() == [True, False, False]


def test_what_if_ends_with_an_error(store: NodeStore) -> None:
    with suppress(RuntimeError), WhatIf(store) as what_if:
        what_if.add(0, make_pod("p", cpu="1"))
        raise RuntimeError
    assert not store.resources.pod_counts.data.any()
