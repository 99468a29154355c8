"""Field ownership at almost no cost for objects that are never applied: recorded now, computed on demand.

Of a creation only the object is recorded, of a change only the difference; equal changes (a thousand pods that
become ready, a lease that is renewed) are stored once. The field sets are computed when the object is applied, or
read by name. Once applied, an object carries its managedFields itself, where `track_update` keeps them up to date,
and the records here are dropped.

Nothing here survives the process: an object without records counts as one that existed before the first apply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from bayplan.apiserver.apply.managers import FieldManager, Managers, capped, encode
from bayplan.apiserver.apply.ownership import WriteTarget, updated
from bayplan.apiserver.apply.reset_fields import target_of
from bayplan.apiserver.apply.typed import Comparison
from bayplan.apiserver.apply.writes import track_update
from bayplan.apiserver.codec import Codec
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.storage.versioned_store import Key

#: After this many changes they are computed at once.
_MAX_WRITES: Final = 16
#: At most this many changes are shared; then sharing starts over.
_MOST_CHANGES: Final = 4096
#: Subresources whose writes change no ownership.
_OWNERLESS: Final = ("binding", "eviction")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class RecordedWrite(msgspec.Struct, frozen=True):
    """One write: manager, time and effect."""

    manager: FieldManager
    time: str
    change: Comparison


class RecordedCreation(msgspec.Struct, frozen=True):
    """A creation: manager, time, and the object with defaults and before admission, as JSON."""

    manager: FieldManager
    time: str
    sent: bytes
    resource: ApiResource


class _WriteLog(msgspec.Struct):
    """The recorded writes of one object: its creation and the changes since."""

    begin: RecordedCreation | Managers
    writes: list[RecordedWrite]


class OwnershipTracker:
    """The recorded writes of all objects."""

    def __init__(self, codec_of: Callable[[ApiResource], Codec], now: Callable[[], str]) -> None:
        self._codec_of = codec_of
        self.now = now
        self._targets: dict[tuple[str, str, str], WriteTarget] = {}
        self._logs: dict[Key, _WriteLog] = {}
        self._changes: dict[bytes, Comparison] = {}

    def target(self, resource: ApiResource, subresource: str = "") -> WriteTarget:
        """The write target of the resource or of a subresource."""
        name = (resource.api_version, resource.kind, subresource)
        schema = self._codec_of(resource).node
        target = self._targets.get(name)
        if target is None or target.schema is not schema:
            target = self._targets[name] = target_of(resource, schema, subresource)
        return target

    # Before a write.

    def creation(self, resource: ApiResource, obj: Object, manager: str) -> RecordedCreation | None:
        """What to pass to `begin` once the object is stored."""
        if obj["metadata"].get("managedFields"):
            return None  # created by an apply, which has recorded it
        return RecordedCreation(
            FieldManager.updating(manager, resource.api_version), self.now(), _encode(obj), resource
        )

    def change(
        self, resource: ApiResource, key: Key, live: Object, new: Object, manager: str, subresource: str = ""
    ) -> RecordedWrite | None:
        """What to pass to `record` once `new` has replaced `live`.

        Where managedFields are in the object itself, they are updated in `new` instead.
        """
        if subresource in _OWNERLESS:
            return None
        try:
            return self._change(self.target(resource, subresource), key, live, new, manager)
        except ValueError:  # list elements without their keys: such an object has no owners
            new["metadata"].pop("managedFields", None)
            self.forget(key)
            return None

    def _change(
        self, target: WriteTarget, key: Key, live: Object, new: Object, manager: str
    ) -> RecordedWrite | None:
        if live["metadata"].get("managedFields") or new["metadata"].get("managedFields"):
            track_update(target, self.shown(key, live), new, manager, self.now())
            self.forget(key)
            return None
        if key not in self._logs:
            return None
        change = target.compare(live, new)
        if not (change.added or change.modified or change.removed):
            return None
        writer = FieldManager.updating(manager, target.api_version, target.subresource)
        return RecordedWrite(writer, self.now(), self._shared(change))

    # After a write.

    def begin(self, key: Key, created: RecordedCreation | None) -> None:
        """Record a creation."""
        if created is None:
            self.forget(key)
        else:
            self._logs[key] = _WriteLog(created, [])

    def record(self, key: Key, write: RecordedWrite | None) -> None:
        """Record a change."""
        log = self._logs.get(key)
        if write is None or log is None:
            return
        last = log.writes[-1] if log.writes else None
        if last is not None and last.manager == write.manager and last.change is write.change:
            log.writes[-1] = write  # the same again, for instance a lease: only the time is new
        else:
            log.writes.append(write)
        if len(log.writes) > _MAX_WRITES:
            self._compute_managers(log)

    def forget(self, key: Key) -> None:
        """The object is gone, or carries its managedFields itself."""
        self._logs.pop(key, None)

    # On demand.

    def has_records(self, key: Key) -> bool:
        return key in self._logs

    def shown(self, key: Key, obj: Object) -> Object:
        """The object with its managedFields."""
        log = self._logs.get(key)
        if log is None or obj["metadata"].get("managedFields"):
            return obj
        managers = self._compute_managers(log)
        if not managers:  # nobody owns anything until the next apply
            self.forget(key)
            return obj
        return {**obj, "metadata": {**obj["metadata"], "managedFields": encode(managers)}}

    def _compute_managers(self, log: _WriteLog) -> Managers:
        managers = log.begin
        if isinstance(managers, RecordedCreation):
            zero = self._codec_of(managers.resource).zero()
            try:
                change = self.target(managers.resource).compare(zero, _decode(managers.sent))
            except ValueError:
                change = Comparison()
            managers = updated({}, change, managers.manager, managers.time)
        for write in log.writes if managers else ():
            managers = capped(updated(managers, write.change, write.manager, write.time))
        log.begin, log.writes = managers, []
        return managers

    def _shared(self, change: Comparison) -> Comparison:
        if len(self._changes) > _MOST_CHANGES:
            self._changes.clear()
        return self._changes.setdefault(_encode(change), change)
