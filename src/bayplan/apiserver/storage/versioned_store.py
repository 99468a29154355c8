"""Objects by resource, namespace and name under one increasing resourceVersion, with the history for watches.

Objects are stored as encoded JSON: a list joins bytes, a watch event is encoded once for all watchers, and 50,000
pods fit into memory. `StoredObject` has what selectors need next to the bytes. Synchronous and single-threaded:
nothing happens between a `get` and the following `put`, so writers compare versions without locks.

With a journal, changes become `visible` only once they are on disk; responses wait for that
(`ApiServer.when_durable`), and watches read up to `visible`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import msgspec

from bayplan.apiserver.storage.history import Change, History
from bayplan.framework import Clock

#: How long changes are kept: kube-apiserver compacts etcd every five minutes.
HISTORY_SECONDS: Final = 300.0
#: How many changes of one resource are kept at most.
HISTORY_LIMIT: Final = 65_536
#: The resolution of times in the history: a change may be dropped that much later.
_TIME_RESOLUTION_SECONDS: Final = 1.0
#: At most this many distinct label (and field) maps are shared; then sharing starts over.
_MAX_SHARED: Final = 100_000
_VERSION: Final = b'"resourceVersion":"'
_SYSTEM_FIELDS: Final = ("name", "generateName", "namespace", "uid")
_TYPE_FIELDS: Final = ("kind", "apiVersion")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Key(NamedTuple):
    """The key of an object. `namespace` is "" for cluster-scoped ones."""

    resource: str
    namespace: str
    name: str

    @property
    def path(self) -> str:
        """The sort key of a list."""
        return f"{self.namespace}/{self.name}"


class _Uid(msgspec.Struct):
    uid: str = ""


class _WithUid(msgspec.Struct):
    metadata: _Uid


_uid = msgspec.json.Decoder(_WithUid).decode


class StoredObject(msgspec.Struct, frozen=True, gc=False):
    """One immutable version of one object."""

    key: Key
    version: int
    #: The object as JSON with resourceVersion, without kind and apiVersion.
    data: bytes
    labels: Mapping[str, str]
    #: Values of field selectors.
    fields: Mapping[str, str]

    def decode(self) -> dict[str, Any]:
        """A new copy that the caller may change."""
        decoded: dict[str, Any] = _decode(self.data)
        return decoded

    @property
    def uid(self) -> str:
        return _uid(self.data).metadata.uid

    def data_at(self, version: int) -> bytes:
        """The object as JSON under another version: a deletion shows the last state under its own version."""
        # The first occurrence is the object's own: see `_encoded`.
        start = self.data.index(_VERSION) + len(_VERSION)
        return b"%b%d%b" % (self.data[:start], version, self.data[self.data.index(b'"', start) :])


#: `list` is a method below.
StoredObjects: TypeAlias = list[StoredObject]
Changes: TypeAlias = list[Change]


class Journal(Protocol):
    """Makes changes durable."""

    def record(self, change: Change) -> None: ...

    def forget(self, changes: Iterable[Change]) -> None:
        """These changes have left the history: the states they replaced can be deleted."""


class _Collection:
    """The objects of one resource, sorted, and their changes."""

    def __init__(self) -> None:
        self.entries: dict[str, StoredObject] = {}
        #: Sorted keys of `entries`.
        self.order: list[str] = []
        self.history = History()
        self.subscribers: list[Callable[[], None]] = []

    def set(self, path: str, entry: StoredObject) -> None:
        if path not in self.entries:
            insort(self.order, path)
        self.entries[path] = entry

    def remove(self, path: str) -> None:
        del self.entries[path]
        del self.order[bisect_left(self.order, path)]

    def select(self, namespace: str) -> list[StoredObject]:
        order, entries = self.order, self.entries
        if namespace:
            # "0" is the character after "/": all paths of the namespace are between.
            order = order[bisect_left(order, f"{namespace}/") : bisect_left(order, f"{namespace}0")]
        return [entries[path] for path in order]


class VersionedStore:
    """See the module docstring."""

    def __init__(
        self,
        clock: Clock,
        *,
        history_seconds: float = HISTORY_SECONDS,
        history_limit: int = HISTORY_LIMIT,
    ) -> None:
        self._clock = clock
        self._history_seconds = history_seconds
        self._history_limit = history_limit
        self._collections: dict[str, _Collection] = {}
        self._journal: Journal | None = None
        self._shared: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
        #: (time, version) pairs: the latest version at a time.
        self._version_times: deque[tuple[float, int]] = deque()
        #: The latest resourceVersion. A new server starts at 1, as a new etcd does.
        self.version = 1
        #: The latest version that clients may see.
        self.visible = 1

    # --- reading ----------------------------------------------------------------------------------

    def get(self, key: Key) -> StoredObject | None:
        collection = self._collections.get(key.resource)
        return collection.entries.get(key.path) if collection is not None else None

    def list(self, resource: str, namespace: str = "") -> StoredObjects:
        """All objects of a resource, or of one namespace, sorted by namespace and name."""
        collection = self._collections.get(resource)
        return collection.select(namespace) if collection is not None else []

    def list_at(self, resource: str, namespace: str, version: int) -> StoredObjects:
        """The same at an earlier *version*; raises CompactedError if it has been dropped."""
        collection = self._collection(resource)
        changes = collection.history.since(version)
        if not changes:
            return collection.select(namespace)
        then = {entry.key.path: entry for entry in collection.select(namespace)}
        for change in reversed(changes):
            key = change.key
            if namespace and key.namespace != namespace:
                continue
            if change.before is None:
                then.pop(key.path, None)
            else:
                then[key.path] = change.before
        return [then[path] for path in sorted(then)]

    def changes_since(self, resource: str, version: int) -> Changes:
        """The visible changes after *version*; raises CompactedError if they have been dropped."""
        return self._collection(resource).history.between(version, self.visible)

    def count(self, resource: str) -> int:
        collection = self._collections.get(resource)
        return len(collection.entries) if collection is not None else 0

    # --- writing ----------------------------------------------------------------------------------

    def put(self, key: Key, obj: Mapping[str, Any], fields: Mapping[str, str]) -> StoredObject:
        """Store a new state of an object. An unchanged one is not stored again."""
        collection = self._collection(key.resource)
        before = collection.entries.get(key.path)
        data = _encoded(obj, before.version if before is not None else self.version + 1)
        if before is not None and _is_same(data, before.data):
            return before
        labels = obj["metadata"].get("labels") or {}
        entry = StoredObject(key, self.version + 1, data, self._share(labels), self._share(fields))
        if before is not None:
            entry = msgspec.structs.replace(entry, data=entry.data_at(entry.version))
        self.version += 1
        collection.set(key.path, entry)
        self._record_change(collection, Change(self.version, before, entry))
        return entry

    def draft(self, key: Key, obj: Mapping[str, Any], fields: Mapping[str, str]) -> StoredObject:
        """What `put` would store, under the current version: for dry runs."""
        before = self.get(key)
        version = before.version if before is not None else None
        labels = obj["metadata"].get("labels") or {}
        return StoredObject(key, version or 0, _encoded(obj, version), labels, fields)

    def delete(self, key: Key) -> Change:
        """Remove an existing object."""
        collection = self._collection(key.resource)
        before = collection.entries[key.path]
        self.version += 1
        collection.remove(key.path)
        change = Change(self.version, before, None)
        self._record_change(collection, change)
        return change

    def _record_change(self, collection: _Collection, change: Change) -> None:
        collection.history.append(change)
        if len(collection.history) > self._history_limit:
            self._forget(collection.history.drop_oldest(self._history_limit // 4))
        self._compact_by_age()
        if self._journal is not None:
            self._journal.record(change)
            return
        self.visible = self.version
        for wake in collection.subscribers:
            wake()

    # --- history ----------------------------------------------------------------------------------

    def compact(self, version: int) -> None:
        """Drop changes up to *version*."""
        for collection in self._collections.values():
            self._forget(collection.history.drop_until(version))

    def _compact_by_age(self) -> None:
        now = self._clock.monotonic()
        version_times = self._version_times
        if version_times and now - version_times[-1][0] < _TIME_RESOLUTION_SECONDS:
            return
        version_times.append((now, self.version))
        outdated = 0
        while version_times[0][0] <= now - self._history_seconds:
            outdated = version_times.popleft()[1]
        if outdated:
            self.compact(outdated)

    def _forget(self, dropped: Iterable[Change]) -> None:
        if self._journal is not None:
            self._journal.forget(dropped)

    # --- subscribers ------------------------------------------------------------------------------

    def subscribe(self, resource: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call *wake* when a change of the resource becomes visible; returns a function that unsubscribes."""
        subscribers = self._collection(resource).subscribers
        subscribers.append(wake)
        return lambda: subscribers.remove(wake)

    def use_journal(self, journal: Journal) -> None:
        """Record changes in *journal* from now on; they become visible with `show`."""
        self._journal = journal

    def show(self, changes: Iterable[Change], version: int) -> None:
        """The journal has written these changes, up to *version*."""
        self.visible = version
        for resource in {change.key.resource for change in changes}:
            for wake in self._collections[resource].subscribers:
                wake()

    def restore(
        self,
        entries: Iterable[StoredObject],
        changes: Iterable[Change],
        *,
        floors: Mapping[str, int],
        version: int,
    ) -> None:
        """Restore from a journal: the objects at each resource's floor, and the changes since."""
        for entry in entries:
            self._collection(entry.key.resource).set(entry.key.path, entry)
        for change in changes:
            collection = self._collection(change.key.resource)
            if change.after is not None:
                collection.set(change.key.path, change.after)
            else:
                collection.remove(change.key.path)
            collection.history.append(change)
        for resource, floor in floors.items():
            self._collection(resource).history.begin_at(floor)
        self.version = self.visible = version

    # --- internals --------------------------------------------------------------------------------

    def _collection(self, resource: str) -> _Collection:
        collection = self._collections.get(resource)
        if collection is None:
            collection = self._collections[resource] = _Collection()
        return collection

    def _share(self, values: Mapping[str, str]) -> Mapping[str, str]:
        """One mapping for all equal ones: pods of a Deployment have the same labels."""
        identity = tuple(values.items())
        shared = self._shared.get(identity)
        if shared is None:
            if len(self._shared) >= _MAX_SHARED:
                self._shared.clear()
            shared = self._shared[identity] = dict(values)
        return shared


def _encoded(obj: Mapping[str, Any], version: int | None) -> bytes:
    """The object without kind and apiVersion, metadata first, and in it the version before user data."""
    metadata = obj["metadata"]
    ordered = {field: metadata[field] for field in _SYSTEM_FIELDS if field in metadata}
    if version is not None:
        ordered["resourceVersion"] = str(version)
    for field, value in metadata.items():
        ordered.setdefault(field, value)
    whole = {"metadata": ordered}
    for field, value in obj.items():
        if field not in _TYPE_FIELDS:
            whole.setdefault(field, value)
    return _encode(whole)


def _is_same(data: bytes, stored: bytes) -> bool:
    """Whether two encodings are equal apart from the order of fields."""
    return data == stored or (len(data) == len(stored) and bool(_decode(data) == _decode(stored)))
