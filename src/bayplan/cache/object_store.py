"""Stores of API objects, other than the pods and nodes in the cache: what plugins read through informers.

In: objects as the watch (or a test, or a replay) shows them. Out: listers, and callbacks on every change. There is
one store for each selection of objects that a plugin has asked for: all objects of a resource, or some of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar, cast

from bayplan.framework.calls import contain
from bayplan.framework.object_selection import ObjectSelection
from bayplan.model import KubeObject, Pod, ResourceClaim, kind_of

logger = logging.getLogger("bayplan.cache")

T = TypeVar("T")

#: Kinds that change with almost every pod; results that are shared between pods must not depend on them.
BUSY_KINDS: Final[frozenset[type[Any]]] = frozenset((Pod, ResourceClaim))


class ObjectStore(Generic[T]):
    """The objects of one selection; implements `framework.Lister`."""

    def __init__(self, on_change: Callable[[], None] | None) -> None:
        self._by_key: dict[tuple[str, str], T] = {}
        self._on_change = on_change
        #: Each with its owner.
        self._callbacks: list[tuple[object, Callable[[Any, Any], None]]] = []

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._by_key.get((namespace, name))

    def list(self, namespace: str | None = None) -> Sequence[T]:
        if namespace is None:
            return list(self._by_key.values())
        return [each for (its_namespace, _), each in self._by_key.items() if its_namespace == namespace]

    def set(self, namespace: str, name: str, value: T) -> T | None:
        """Add or replace; returns the previous object."""
        if self._on_change is not None:
            self._on_change()
        old = self._by_key.get((namespace, name))
        self._by_key[namespace, name] = value
        for owner, callback in self._callbacks:
            _notify(owner, callback, old, value)
        return old

    def remove(self, namespace: str, name: str) -> T | None:
        if self._on_change is not None:
            self._on_change()
        old = self._by_key.pop((namespace, name), None)
        if old is not None:
            for owner, callback in self._callbacks:
                _notify(owner, callback, old, None)
        return old

    def follow(self, other: ObjectStore[T]) -> None:
        """Have the same objects as *other*; one that is the same object already is no change."""
        for namespace, name in [key for key in self._by_key if key not in other._by_key]:
            self.remove(namespace, name)
        for (namespace, name), value in list(other._by_key.items()):
            if self._by_key.get((namespace, name)) is not value:
                self.set(namespace, name, value)

    def subscribe(self, owner: object, callback: Callable[[Any, Any], None], *, replay: bool = False) -> None:
        """Call *callback* on every change; with *replay*, also for the objects that are already there."""
        # A new list: a callback may subscribe another one.
        self._callbacks = [*self._callbacks, (owner, callback)]
        for value in self.list() if replay else ():
            _notify(owner, callback, None, value)

    def unsubscribe(self, owner: object) -> None:
        self._callbacks = [each for each in self._callbacks if each[0] != owner]

    def replay_to(self, owner: object) -> None:
        """Call the callbacks of *owner* for every object, as if it were created now."""
        own = [callback for whose, callback in self._callbacks if whose == owner]
        for value in self.list() if own else ():
            for callback in own:
                _notify(owner, callback, None, value)


class ObjectStores:
    """A store for each kind, each custom resource and each selection of objects."""

    def __init__(self) -> None:
        self._stores: dict[type[Any], ObjectStore[Any]] = {}
        #: By apiVersion and plural.
        self._custom: dict[tuple[str, str], ObjectStore[dict[str, Any]]] = {}
        #: Of less than all objects of a resource.
        self._selected: dict[ObjectSelection, ObjectStore[Any]] = {}
        #: Called when something is asked for that was not before: it has to be watched.
        self.on_request: Callable[[], None] | None = None
        #: Changes with every change of any object that is not of a busy kind.
        self.generation = 0

    def _new_store(self, kind: type[Any] | None = None) -> ObjectStore[Any]:
        return ObjectStore(None if kind in BUSY_KINDS else self._note_change)

    def _note_change(self) -> None:
        self.generation += 1

    # --- what is asked for --------------------------------------------------------------------------------

    @property
    def kinds(self) -> Sequence[type[Any]]:
        """The kinds with a lister or a callback: the ones to watch."""
        return tuple(self._stores)

    @property
    def custom_kinds(self) -> Sequence[tuple[str, str]]:
        """The custom resources to watch: apiVersion and plural."""
        return tuple(self._custom)

    @property
    def selections(self) -> Sequence[ObjectSelection]:
        """The parts of resources to watch."""
        return tuple(self._selected)

    def is_requested(self, kind: type[Any]) -> bool:
        """Whether *kind* has a lister or a callback."""
        return kind in self._stores

    def is_watched(self, resource: ObjectSelection) -> bool:
        """Whether objects of the resource, or some of them, are asked for in any form."""
        name = resource.api_version, resource.plural
        typed = {(kind_of(kind).api_version, kind_of(kind).plural) for kind in self._stores}
        return name in typed or name in self._custom or any(each[:2] == name for each in self._selected)

    def lister(self, kind: type[T]) -> ObjectStore[T]:
        store = self._stores.get(kind)
        if store is None:
            store = self._stores[kind] = self._new_store(kind)
            self._requested()
        return cast("ObjectStore[T]", store)

    def custom(self, api_version: str, plural: str) -> ObjectStore[dict[str, Any]]:
        store = self._custom.get((api_version, plural))
        if store is None:
            store = self._custom[api_version, plural] = self._new_store()
            self._requested()
        return store

    def selected(self, selection: ObjectSelection) -> ObjectStore[Any]:
        """The objects of any selection."""
        if selection.is_whole:
            if selection.kind is None:
                return self.custom(selection.api_version, selection.plural)
            return self.lister(selection.kind)
        store = self._selected.get(selection)
        if store is None:
            store = self._selected[selection] = self._new_store(selection.kind)
            self._requested()
        return store

    def _requested(self) -> None:
        if self.on_request is not None:
            self.on_request()

    # --- callbacks ----------------------------------------------------------------------------------------

    def on_change(
        self, kind: type[T], callback: Callable[[T | None, T | None], None], *, owner: object = None
    ) -> None:
        """See `remove_callbacks` for *owner*."""
        self.lister(kind).subscribe(owner, callback)

    def _all_stores(self) -> list[ObjectStore[Any]]:
        return [*self._stores.values(), *self._custom.values(), *self._selected.values()]

    def remove_callbacks(self, owner: object) -> None:
        """Unregister the callbacks of *owner*."""
        for store in self._all_stores():
            store.unsubscribe(owner)

    def replay_to(self, owner: object) -> None:
        """Call the callbacks of *owner* for every object that is already there, as if it were created now."""
        for store in self._all_stores():
            store.replay_to(owner)

    # --- changes ------------------------------------------------------------------------------------------

    def set(self, value: KubeObject) -> None:
        """Add or update an object."""
        store = self._stores.get(type(value))
        if store is None:
            store = self._stores[type(value)] = self._new_store(type(value))
        store.set(value.namespace, value.name, value)

    def remove(self, value: KubeObject) -> None:
        """Remove an object."""
        store = self._stores.get(type(value))
        if store is not None:
            store.remove(value.namespace, value.name)


def _notify(owner: object, callback: Callable[[Any, Any], None], old: Any, new: Any) -> None:
    """Call a plugin's callback. One that raises must not keep the cache and the queue from the change."""
    try:
        callback(old, new)
    except BaseException as error:
        contain(error)
        changed = new if new is not None else old
        kind, key = _identify(changed)
        logger.exception("Callback raised: plugin=%s object=%s %s", getattr(owner, "name", ""), kind, key)


def _identify(value: Any) -> tuple[str, str]:
    if isinstance(value, KubeObject):
        return type(value).__name__, value.key
    metadata = value.get("metadata", {})
    key = "/".join(part for part in (metadata.get("namespace", ""), metadata.get("name", "")) if part)
    return str(value.get("kind", "")), key
