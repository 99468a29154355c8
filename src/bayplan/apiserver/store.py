"""Objects by resource, namespace and name under one rising resourceVersion, and the history that watches read.

Objects are kept as encoded JSON: a list is a join of bytes, a watch event is encoded once for all watchers, and
50,000 pods fit into memory. `Entry` carries beside the bytes what selection needs. Synchronous, in one thread:
between a `get` and the `put` that follows nothing happens, so whoever writes compares versions without locks.

With a journal, changes are `visible` only once they are on disk; what leaves the process waits for that
(`ApiServer.when_durable`), and watches read up to `visible`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import msgspec

from bayplan.apiserver.history import Change, History
from bayplan.framework import Clock

#: How long changes are remembered: kube-apiserver compacts etcd every five minutes.
HISTORY_SECONDS: Final = 300.0
#: How many changes of one resource are remembered at most.
HISTORY_LIMIT: Final = 65_536
#: Times are noted this often; a change is forgotten that much later than it could be.
_MARK_SECONDS: Final = 1.0
#: Distinct sets of labels (and of fields) that are shared; beyond, sharing starts anew.
_MAX_SHARED: Final = 100_000
_VERSION: Final = b'"resourceVersion":"'
_SYSTEM_FIELDS: Final = ("name", "generateName", "namespace", "uid")
_TYPE_FIELDS: Final = ("kind", "apiVersion")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Key(NamedTuple):
    """Where an object is. `namespace` is "" for what is not namespaced."""

    resource: str
    namespace: str
    name: str

    @property
    def path(self) -> str:
        """The place in the order of a list."""
        return f"{self.namespace}/{self.name}"


class _Uid(msgspec.Struct):
    uid: str = ""


class _WithUid(msgspec.Struct):
    metadata: _Uid


_uid = msgspec.json.Decoder(_WithUid).decode


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One version of one object, never changed."""

    key: Key
    version: int
    #: The object as JSON, resourceVersion included, kind and apiVersion left out.
    data: bytes
    labels: Mapping[str, str]
    #: Values of field selectors.
    fields: Mapping[str, str]

    def decode(self) -> dict[str, Any]:
        """A fresh copy that the caller may change."""
        decoded: dict[str, Any] = _decode(self.data)
        return decoded

    @property
    def uid(self) -> str:
        return _uid(self.data).metadata.uid

    def data_at(self, version: int) -> bytes:
        """The object as JSON under another version: a deletion shows the last state under its own."""
        # The first of that name is the object's own: see `_encoded`.
        start = self.data.index(_VERSION) + len(_VERSION)
        return b"%b%d%b" % (self.data[:start], version, self.data[self.data.index(b'"', start) :])


#: `list` is a method below.
Entries: TypeAlias = list[Entry]
Changes: TypeAlias = list[Change]


class Journal(Protocol):
    """Where changes go to be remembered when the process is gone."""

    def record(self, change: Change) -> None: ...

    def forget(self, changes: Iterable[Change]) -> None:
        """These have left the history: what they replaced need not be kept."""


class _Shelf:
    """The objects of one resource, in order, and their changes."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        #: Sorted keys of `entries`.
        self.order: list[str] = []
        self.history = History()
        self.subscribers: list[Callable[[], None]] = []

    def set(self, path: str, entry: Entry) -> None:
        if path not in self.entries:
            insort(self.order, path)
        self.entries[path] = entry

    def remove(self, path: str) -> None:
        del self.entries[path]
        del self.order[bisect_left(self.order, path)]

    def select(self, namespace: str) -> list[Entry]:
        order, entries = self.order, self.entries
        if namespace:
            # "0" is what follows "/": all paths of the namespace are between.
            order = order[bisect_left(order, f"{namespace}/") : bisect_left(order, f"{namespace}0")]
        return [entries[path] for path in order]


class Store:
    """See the module's text."""

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
        self._shelves: dict[str, _Shelf] = {}
        self._journal: Journal | None = None
        self._shared: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
        #: (time, version) pairs: what was the latest version when.
        self._marks: deque[tuple[float, int]] = deque()
        #: The latest resourceVersion. A new server starts at 1, as a new etcd does.
        self.version = 1
        #: The latest one that the world may know of.
        self.visible = 1

    # --- reading ----------------------------------------------------------------------------------

    def get(self, key: Key) -> Entry | None:
        shelf = self._shelves.get(key.resource)
        return shelf.entries.get(key.path) if shelf is not None else None

    def list(self, resource: str, namespace: str = "") -> Entries:
        """All of a resource, or of one namespace, in the order of namespaces and names."""
        shelf = self._shelves.get(resource)
        return shelf.select(namespace) if shelf is not None else []

    def list_at(self, resource: str, namespace: str, version: int) -> Entries:
        """The same as it was at an earlier *version*; raises ExpiredError if that is forgotten."""
        shelf = self._shelf(resource)
        changes = shelf.history.since(version)
        if not changes:
            return shelf.select(namespace)
        then = {entry.key.path: entry for entry in shelf.select(namespace)}
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
        """What happened after *version* and may be known; raises ExpiredError if that is forgotten."""
        return self._shelf(resource).history.between(version, self.visible)

    def count(self, resource: str) -> int:
        shelf = self._shelves.get(resource)
        return len(shelf.entries) if shelf is not None else 0

    # --- writing ----------------------------------------------------------------------------------

    def put(self, key: Key, obj: Mapping[str, Any], fields: Mapping[str, str]) -> Entry:
        """Store a new state of an object. One that says the same as the last is not stored again."""
        shelf = self._shelf(key.resource)
        before = shelf.entries.get(key.path)
        data = _encoded(obj, before.version if before is not None else self.version + 1)
        if before is not None and _is_same(data, before.data):
            return before
        labels = obj["metadata"].get("labels") or {}
        entry = Entry(key, self.version + 1, data, self._share(labels), self._share(fields))
        if before is not None:
            entry = msgspec.structs.replace(entry, data=entry.data_at(entry.version))
        self.version += 1
        shelf.set(key.path, entry)
        self._note(shelf, Change(self.version, before, entry))
        return entry

    def draft(self, key: Key, obj: Mapping[str, Any], fields: Mapping[str, str]) -> Entry:
        """What `put` would store, under the version that is there: for dry runs."""
        before = self.get(key)
        version = before.version if before is not None else None
        labels = obj["metadata"].get("labels") or {}
        return Entry(key, version or 0, _encoded(obj, version), labels, fields)

    def delete(self, key: Key) -> Change:
        """Remove an object, which is there."""
        shelf = self._shelf(key.resource)
        before = shelf.entries[key.path]
        self.version += 1
        shelf.remove(key.path)
        change = Change(self.version, before, None)
        self._note(shelf, change)
        return change

    def _note(self, shelf: _Shelf, change: Change) -> None:
        shelf.history.append(change)
        if len(shelf.history) > self._history_limit:
            self._forget(shelf.history.drop_oldest(self._history_limit // 4))
        self._compact_by_age()
        if self._journal is not None:
            self._journal.record(change)
            return
        self.visible = self.version
        for wake in shelf.subscribers:
            wake()

    # --- history ----------------------------------------------------------------------------------

    def compact(self, version: int) -> None:
        """Forget changes up to *version*."""
        for shelf in self._shelves.values():
            self._forget(shelf.history.drop_until(version))

    def _compact_by_age(self) -> None:
        now = self._clock.monotonic()
        marks = self._marks
        if marks and now - marks[-1][0] < _MARK_SECONDS:
            return
        marks.append((now, self.version))
        outdated = 0
        while marks[0][0] <= now - self._history_seconds:
            outdated = marks.popleft()[1]
        if outdated:
            self.compact(outdated)

    def _forget(self, dropped: Iterable[Change]) -> None:
        if self._journal is not None:
            self._journal.forget(dropped)

    # --- followers --------------------------------------------------------------------------------

    def subscribe(self, resource: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Have *wake* called when a change of the resource becomes visible; returns how to end that."""
        subscribers = self._shelf(resource).subscribers
        subscribers.append(wake)
        return lambda: subscribers.remove(wake)

    def keep_in(self, journal: Journal) -> None:
        """From now on changes are recorded, and become visible with `show`."""
        self._journal = journal

    def show(self, changes: Iterable[Change], version: int) -> None:
        """The journal has these, up to *version*."""
        self.visible = version
        for resource in {change.key.resource for change in changes}:
            for wake in self._shelves[resource].subscribers:
                wake()

    def restore(
        self, entries: Iterable[Entry], changes: Iterable[Change], *, floors: Mapping[str, int], version: int
    ) -> None:
        """Begin where a journal ended: objects as of each resource's floor, and what changed since."""
        for entry in entries:
            self._shelf(entry.key.resource).set(entry.key.path, entry)
        for change in changes:
            shelf = self._shelf(change.key.resource)
            if change.after is not None:
                shelf.set(change.key.path, change.after)
            else:
                shelf.remove(change.key.path)
            shelf.history.append(change)
        for resource, floor in floors.items():
            self._shelf(resource).history.begin_at(floor)
        self.version = self.visible = version

    # --- inside -----------------------------------------------------------------------------------

    def _shelf(self, resource: str) -> _Shelf:
        shelf = self._shelves.get(resource)
        if shelf is None:
            shelf = self._shelves[resource] = _Shelf()
        return shelf

    def _share(self, values: Mapping[str, str]) -> Mapping[str, str]:
        """One mapping for all that are equal: pods of a Deployment have the same labels."""
        identity = tuple(values.items())
        shared = self._shared.get(identity)
        if shared is None:
            if len(self._shared) >= _MAX_SHARED:
                self._shared.clear()
            shared = self._shared[identity] = dict(values)
        return shared


def _encoded(obj: Mapping[str, Any], version: int | None) -> bytes:
    """The object without kind and apiVersion, metadata first, and in it the version before what users write."""
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
    """Whether two encodings say the same; fields in another order are as long."""
    return data == stored or (len(data) == len(stored) and bool(_decode(data) == _decode(stored)))
