"""Stores of API objects by kind, other than the pods and nodes in the cache: what plugins read through listers.

In: objects as the watch (or a test, or a replay) shows them. Out: listers, and callbacks on every change.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar, cast

from bayplan.framework.calls import contain
from bayplan.model import KubeObject, Pod, ResourceClaim

logger = logging.getLogger("bayplan.cache")

T = TypeVar("T")

#: Kinds that change with almost every pod; results that are shared between pods must not depend on them.
BUSY_KINDS: Final[frozenset[type[Any]]] = frozenset((Pod, ResourceClaim))


class ObjectStore(Generic[T]):
    """The objects of one kind; implements `framework.Lister`."""

    def __init__(self, on_change: Callable[[], None] | None) -> None:
        self._by_key: dict[tuple[str, str], T] = {}
        self._on_change = on_change

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
        return old

    def remove(self, namespace: str, name: str) -> T | None:
        if self._on_change is not None:
            self._on_change()
        return self._by_key.pop((namespace, name), None)


class ObjectStores:
    """A store for each kind; implements `framework.Informers`."""

    def __init__(self) -> None:
        self._stores: dict[type[Any], ObjectStore[Any]] = {}
        self._custom: defaultdict[tuple[str, str], ObjectStore[dict[str, Any]]] = defaultdict(self._new_store)
        #: Kind → callbacks, each with its owner.
        self._callbacks: defaultdict[type[Any], list[tuple[object, Callable[[Any, Any], None]]]] = defaultdict(
            list
        )
        self._owner: object = None
        #: Changes with every change of any object that is not of a busy kind.
        self.generation = 0

    def _new_store(self) -> ObjectStore[Any]:
        return ObjectStore(self._note_change)

    def _note_change(self) -> None:
        self.generation += 1

    @property
    def kinds(self) -> Sequence[type[Any]]:
        """The kinds with a lister or a callback: the ones to watch."""
        return tuple({*self._stores, *self._callbacks})

    @property
    def custom_kinds(self) -> Sequence[tuple[str, str]]:
        """The custom resources to watch: apiVersion and plural."""
        return tuple(self._custom)

    def is_requested(self, kind: type[Any]) -> bool:
        """Whether *kind* has a lister or a callback."""
        return kind in self._stores or kind in self._callbacks

    def lister(self, kind: type[T]) -> ObjectStore[T]:
        store = self._stores.get(kind)
        if store is None:
            store = self._stores[kind] = ObjectStore(None) if kind in BUSY_KINDS else self._new_store()
        return cast("ObjectStore[T]", store)

    def custom(self, api_version: str, plural: str) -> ObjectStore[dict[str, Any]]:
        return self._custom[api_version, plural]

    def on_change(self, kind: type[T], callback: Callable[[T | None, T | None], None]) -> None:
        self._callbacks[kind].append((self._owner, callback))

    @contextmanager
    def owned_by(self, owner: object) -> Iterator[None]:
        """Callbacks registered within belong to *owner*; see `remove_callbacks`."""
        before, self._owner = self._owner, owner
        try:
            yield
        finally:
            self._owner = before

    def remove_callbacks(self, owner: object) -> None:
        """Unregister the callbacks of *owner*."""
        for kind, callbacks in self._callbacks.items():
            self._callbacks[kind] = [each for each in callbacks if each[0] != owner]

    def replay_to(self, owner: object) -> None:
        """Call the callbacks of *owner* for every object that is already there, as if it were created now."""
        for kind, callbacks in self._callbacks.items():
            own = [callback for whose, callback in callbacks if whose == owner]
            for value in self.lister(kind).list() if own else ():
                for callback in own:
                    _tell(owner, callback, None, value)

    def set(self, value: KubeObject) -> None:
        """Add or update an object."""
        kind = type(value)
        store = self._stores.get(kind)
        if store is None:
            store = self.lister(kind)
        old = store.set(value.namespace, value.name, value)
        for owner, callback in self._callbacks[kind]:
            _tell(owner, callback, old, value)

    def remove(self, value: KubeObject) -> None:
        """Remove an object."""
        kind = type(value)
        old = self.lister(kind).remove(value.namespace, value.name)
        if old is not None:
            for owner, callback in self._callbacks[kind]:
                _tell(owner, callback, old, None)


def _tell(owner: object, callback: Callable[[Any, Any], None], old: Any, new: Any) -> None:
    """Call a plugin's callback. One that raises must not keep the cache and the queue from the change."""
    try:
        callback(old, new)
    except BaseException as error:
        contain(error)
        plugin = getattr(owner[1], "name", "") if isinstance(owner, tuple) else ""
        changed = new if new is not None else old
        logger.exception("Callback raised: plugin=%s object=%s %s", plugin, type(changed).__name__, changed.key)
