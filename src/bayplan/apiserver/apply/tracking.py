"""Ownership of fields at next to no cost, for objects that nobody applies: noted now, worked out when asked for.

Of a creation only the object is kept, of a change only what changed; equal changes (a thousand pods that become
ready, a lease that is renewed) are kept once. The sets of fields are worked out when somebody applies to the
object or reads it by itself. Once applied to, an object has its managedFields in itself, and they are kept up to
date there (`track_update`); what is noted here is then done with.

Nothing here survives the process: an object without notes is one that was there before anybody applied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from bayplan.apiserver.apply.managers import Manager, Managers, capped, encode
from bayplan.apiserver.apply.ownership import View, updated
from bayplan.apiserver.apply.requests import track_update
from bayplan.apiserver.apply.typed import Comparison
from bayplan.apiserver.apply.views import view_of
from bayplan.apiserver.codec import Codec
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.store import Key
from bayplan.apiserver.strategy import Object

#: With so many changes to work through, they are worked through at once.
_MOST_STEPS: Final = 16
#: Changes that are kept once; beyond, sharing starts anew.
_MOST_CHANGES: Final = 4096
#: Ways to change an object that make nobody the owner of anything.
_OWNERLESS: Final = ("binding", "eviction")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Step(msgspec.Struct, frozen=True):
    """One write: who, when, and what it did."""

    manager: Manager
    time: str
    change: Comparison


class Created(msgspec.Struct, frozen=True):
    """A creation: who, when, and what was sent, with defaults and before admission, as JSON."""

    manager: Manager
    time: str
    sent: bytes
    resource: Resource


class _Trail(msgspec.Struct):
    """The notes about one object: how it began, and what was done to it since."""

    begin: Created | Managers
    steps: list[Step]


class Ownership:
    """The notes about all objects."""

    def __init__(self, codec_of: Callable[[Resource], Codec], now: Callable[[], str]) -> None:
        self._codec_of = codec_of
        self.now = now
        self._views: dict[tuple[str, str, str], View] = {}
        self._trails: dict[Key, _Trail] = {}
        self._changes: dict[bytes, Comparison] = {}

    def view(self, resource: Resource, subresource: str = "") -> View:
        """How fields of the resource are seen from there."""
        name = (resource.api_version, resource.kind, subresource)
        schema = self._codec_of(resource).node
        view = self._views.get(name)
        if view is None or view.schema is not schema:
            view = self._views[name] = view_of(resource, schema, subresource)
        return view

    # Before a write, while nobody but its author has changed the object.

    def creation(self, resource: Resource, obj: Object, manager: str) -> Created | None:
        """What to `begin` with once the object is stored."""
        if obj["metadata"].get("managedFields"):
            return None  # made by an apply, which has noted it
        return Created(Manager.updating(manager, resource.api_version), self.now(), _encode(obj), resource)

    def step(
        self, resource: Resource, key: Key, live: Object, new: Object, manager: str, subresource: str = ""
    ) -> Step | None:
        """What to `record` once `new` is stored in place of `live`.

        Where managedFields are in the object itself, they are brought up to date in `new` instead.
        """
        if subresource in _OWNERLESS:
            return None
        try:
            return self._step(self.view(resource, subresource), key, live, new, manager)
        except ValueError:  # list elements that lack their keys: nobody owns anything of such an object
            new["metadata"].pop("managedFields", None)
            self.forget(key)
            return None

    def _step(self, view: View, key: Key, live: Object, new: Object, manager: str) -> Step | None:
        if live["metadata"].get("managedFields") or new["metadata"].get("managedFields"):
            track_update(view, self.shown(key, live), new, manager, self.now())
            self.forget(key)
            return None
        if key not in self._trails:
            return None
        change = view.compare(live, new)
        if not (change.added or change.modified or change.removed):
            return None
        writer = Manager.updating(manager, view.api_version, view.subresource)
        return Step(writer, self.now(), self._shared(change))

    # After it.

    def begin(self, key: Key, created: Created | None) -> None:
        """Note a creation."""
        if created is None:
            self.forget(key)
        else:
            self._trails[key] = _Trail(created, [])

    def record(self, key: Key, step: Step | None) -> None:
        """Note a change."""
        trail = self._trails.get(key)
        if step is None or trail is None:
            return
        last = trail.steps[-1] if trail.steps else None
        if last is not None and last.manager == step.manager and last.change is step.change:
            trail.steps[-1] = step  # the same again, a lease say: only the time is new
        else:
            trail.steps.append(step)
        if len(trail.steps) > _MOST_STEPS:
            self._work_out(trail)

    def forget(self, key: Key) -> None:
        """The object is gone, or has its managedFields in itself."""
        self._trails.pop(key, None)

    # When somebody asks.

    def has_notes(self, key: Key) -> bool:
        return key in self._trails

    def shown(self, key: Key, obj: Object) -> Object:
        """The object with its managedFields."""
        trail = self._trails.get(key)
        if trail is None or obj["metadata"].get("managedFields"):
            return obj
        managers = self._work_out(trail)
        if not managers:  # nobody owns anything, and that stays so until somebody applies
            self.forget(key)
            return obj
        return {**obj, "metadata": {**obj["metadata"], "managedFields": encode(managers)}}

    def _work_out(self, trail: _Trail) -> Managers:
        managers = trail.begin
        if isinstance(managers, Created):
            zero = self._codec_of(managers.resource).zero()
            try:
                change = self.view(managers.resource).compare(zero, _decode(managers.sent))
            except ValueError:
                change = Comparison()
            managers = updated({}, change, managers.manager, managers.time)
        for step in trail.steps if managers else ():
            managers = capped(updated(managers, step.change, step.manager, step.time))
        trail.begin, trail.steps = managers, []
        return managers

    def _shared(self, change: Comparison) -> Comparison:
        if len(self._changes) > _MOST_CHANGES:
            self._changes.clear()
        return self._changes.setdefault(_encode(change), change)
