"""The store: sorted objects, one increasing version, and the history that lists and watches read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from bayplan.apiserver.storage.history import CompactedError
from bayplan.apiserver.storage.versioned_store import Key, VersionedStore
from bayplan.testing import VirtualClock

RESOURCE = "configmaps"


def config_map(
    name: str,
    data: Mapping[str, str] | None = None,
    *,
    namespace: str = "s",
    labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": f"uid-of-{name}"}
    if labels:
        metadata["labels"] = labels
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": data or {}}


def put(store: VersionedStore, name: str, *, namespace: str = "s", **data: str) -> int:
    obj = config_map(name, data, namespace=namespace)
    return store.put(Key(RESOURCE, namespace, name), obj, {}).version


def names(entries: list[Any]) -> list[str]:
    return [entry.key.path for entry in entries]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def store(clock: VirtualClock) -> VersionedStore:
    return VersionedStore(clock)


def test_a_write_raises_the_version(store: VersionedStore) -> None:
    """One counter for all resources; an object has the version of its last change."""
    first = put(store, "a")
    second = store.put(Key("secrets", "s", "a"), config_map("a"), {}).version

    assert (first, second, store.version) == (2, 3, 3)


def test_an_object_is_kept_without_its_types(store: VersionedStore) -> None:
    """Kind and apiVersion belong to the resource; the stored JSON begins with metadata and has the version."""
    put(store, "a", x="1")
    entry = store.get(Key(RESOURCE, "s", "a"))

    assert entry is not None
    assert entry.decode() == {
        "metadata": {"name": "a", "namespace": "s", "uid": "uid-of-a", "resourceVersion": "2"},
        "data": {"x": "1"},
    }


def test_an_unchanged_object_is_no_change(store: VersionedStore) -> None:
    """A write without changes neither increments the version nor notifies anyone."""
    first = put(store, "a", x="1", y="2")
    woken: list[int] = []
    store.subscribe(RESOURCE, lambda: woken.append(store.version))
    obj = config_map("a", {"y": "2", "x": "1"})

    assert store.put(Key(RESOURCE, "s", "a"), obj, {}).version == first
    assert not woken


def test_lists_are_in_the_order_of_etcd(store: VersionedStore) -> None:
    """By the bytes of namespace/name: "a-b" comes before "a", because "-" comes before "/"."""
    for namespace, name in (("b", "x"), ("a", "z"), ("a-b", "y"), ("a", "y.1"), ("a", "y")):
        put(store, name, namespace=namespace)

    assert names(store.list(RESOURCE)) == ["a-b/y", "a/y", "a/y.1", "a/z", "b/x"]
    assert names(store.list(RESOURCE, "a")) == ["a/y", "a/y.1", "a/z"]


def test_an_earlier_version_can_be_listed(store: VersionedStore) -> None:
    """Later creations are gone, deleted objects are back, changed ones have their old state."""
    put(store, "changed", x="old")
    put(store, "deleted")
    then = store.version
    put(store, "changed", x="new")
    store.delete(Key(RESOURCE, "s", "deleted"))
    put(store, "created")

    earlier = store.list_at(RESOURCE, "s", then)

    assert names(earlier) == ["s/changed", "s/deleted"]
    assert earlier[0].decode()["data"] == {"x": "old"}


def test_a_deletion_shows_the_last_state_under_its_own_version(store: VersionedStore) -> None:
    """User data may contain a resourceVersion as well; only the object's own changes."""
    obj = config_map("a", {"resourceVersion": "8"}, labels={"resourceVersion": "7"})
    store.put(Key(RESOURCE, "s", "a"), obj, {})
    change = store.delete(Key(RESOURCE, "s", "a"))

    assert change.before is not None
    shown = msgspec.json.decode(change.before.data_at(change.version))
    assert shown["metadata"]["resourceVersion"] == "3"
    assert shown["metadata"]["labels"] == {"resourceVersion": "7"}
    assert shown["data"] == {"resourceVersion": "8"}


def test_history_is_bounded_by_count(clock: VirtualClock) -> None:
    """Beyond the limit the oldest changes are dropped, and a request for them fails."""
    store = VersionedStore(clock, history_limit=8)
    for i in range(20):
        put(store, "a", x=str(i))

    assert len(store.changes_since(RESOURCE, store.version - 6)) == 6
    with pytest.raises(CompactedError):
        store.changes_since(RESOURCE, 2)


def test_history_is_bounded_by_age(clock: VirtualClock) -> None:
    """Changes are dropped after `history_seconds`, at the next write."""
    store = VersionedStore(clock, history_seconds=300)
    put(store, "a", x="old")
    before = store.version - 1
    clock.advance(200)
    put(store, "a", x="newer")
    assert len(store.changes_since(RESOURCE, before)) == 2
    clock.advance(150)
    put(store, "a", x="newest")

    with pytest.raises(CompactedError):
        store.changes_since(RESOURCE, before)
    assert len(store.changes_since(RESOURCE, before + 1)) == 2


def test_history_of_a_quiet_resource_does_not_expire(clock: VirtualClock) -> None:
    """Changes of one resource do not expire the history of another."""
    store = VersionedStore(clock, history_limit=8)
    quiet = store.put(Key("secrets", "s", "a"), config_map("a"), {}).version
    for i in range(50):
        put(store, "a", x=str(i))

    assert store.changes_since("secrets", quiet) == []


def test_equal_labels_are_shared(store: VersionedStore) -> None:
    """Fifty thousand pods of a thousand Deployments have a thousand sets of labels."""
    for name in ("a", "b"):
        store.put(Key(RESOURCE, "s", name), config_map(name, labels={"app": "web"}), {"spec.nodeName": "n"})
    a, b = store.list(RESOURCE)

    assert a.labels is b.labels
    assert a.fields is b.fields


def test_unsubscribed_callbacks_are_not_called(store: VersionedStore) -> None:
    woken: list[str] = []
    end = store.subscribe(RESOURCE, lambda: woken.append("first"))
    store.subscribe(RESOURCE, lambda: woken.append("second"))
    put(store, "a")
    end()
    put(store, "b")

    assert woken == ["first", "second", "second"]


def test_a_dry_run_shows_and_stores_nothing(store: VersionedStore) -> None:
    """A draft of a new object has no version; of an existing one, its current version."""
    new = store.draft(Key(RESOURCE, "s", "a"), config_map("a"), {})
    put(store, "a")
    changed = store.draft(Key(RESOURCE, "s", "a"), config_map("a", {"x": "1"}), {})

    assert "resourceVersion" not in new.decode()["metadata"]
    assert changed.decode()["metadata"]["resourceVersion"] == "2"
    assert store.version == 2
