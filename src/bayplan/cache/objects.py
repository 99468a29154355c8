"""Objects of every kind, by name: what plugins look up besides pods and nodes.

Fed by the watch (or by a test, or a replay); read by plugins through listers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, cast

from bayplan.model import KubeObject, Pod

T = TypeVar("T")


class Kept(Generic[T]):
    """The objects of one kind; implements `framework.Lister`."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._by_key: dict[tuple[str, str], T] = {}
        self._on_change = on_change

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._by_key.get((namespace, name))

    def list(self, namespace: str | None = None) -> Sequence[T]:
        if namespace is None:
            return list(self._by_key.values())
        return [each for (its_namespace, _), each in self._by_key.items() if its_namespace == namespace]

    def set(self, namespace: str, name: str, value: T) -> T | None:
        """Add or replace; what was there before."""
        self._on_change()
        old = self._by_key.get((namespace, name))
        self._by_key[namespace, name] = value
        return old

    def remove(self, namespace: str, name: str) -> T | None:
        self._on_change()
        return self._by_key.pop((namespace, name), None)


class Objects:
    """Implements `framework.Informers`."""

    def __init__(self) -> None:
        self._kinds: dict[type[Any], Kept[Any]] = {}
        self._custom: defaultdict[tuple[str, str], Kept[dict[str, Any]]] = defaultdict(self._new_kind)
        #: Kind → who wants to know, with the owner that each belongs to.
        self._callbacks: defaultdict[type[Any], list[tuple[object, Callable[[Any, Any], None]]]] = defaultdict(
            list
        )
        self._owner: object = None
        #: Changes with every change of any object, pods aside: they come and go all the time.
        self.generation = 0

    def _new_kind(self) -> Kept[Any]:
        return Kept(self._note_change)

    def _note_change(self) -> None:
        self.generation += 1

    def _note_nothing(self) -> None:
        pass

    @property
    def kinds(self) -> Sequence[type[Any]]:
        """The kinds that somebody asked for: those to be watched."""
        return tuple({*self._kinds, *self._callbacks})

    @property
    def custom_kinds(self) -> Sequence[tuple[str, str]]:
        """The same for custom resources: apiVersion and plural."""
        return tuple(self._custom)

    def is_asked_for(self, kind: type[Any]) -> bool:
        return kind in self._kinds or kind in self._callbacks

    def lister(self, kind: type[T]) -> Kept[T]:
        kept = self._kinds.get(kind)
        if kept is None:
            kept = self._kinds[kind] = Kept(self._note_nothing) if kind is Pod else self._new_kind()
        return cast("Kept[T]", kept)

    def custom(self, api_version: str, plural: str) -> Kept[dict[str, Any]]:
        return self._custom[api_version, plural]

    def on_change(self, kind: type[T], callback: Callable[[T | None, T | None], None]) -> None:
        self._callbacks[kind].append((self._owner, callback))

    @contextmanager
    def owned_by(self, owner: object) -> Iterator[None]:
        """What registers within belongs to *owner*, which can be told to `disown`."""
        before, self._owner = self._owner, owner
        try:
            yield
        finally:
            self._owner = before

    def disown(self, owner: object) -> None:
        """The callbacks of *owner* are called no more."""
        for kind, callbacks in self._callbacks.items():
            self._callbacks[kind] = [each for each in callbacks if each[0] != owner]

    def tell_all(self, owner: object) -> None:
        """Tell the callbacks of *owner* about everything that is there already."""
        for kind, callbacks in self._callbacks.items():
            own = [callback for whose, callback in callbacks if whose == owner]
            for value in self.lister(kind).list() if own else ():
                for callback in own:
                    callback(None, value)

    def set(self, value: KubeObject) -> None:
        """An object is new or changed."""
        kind = type(value)
        old = self.lister(kind).set(value.namespace, value.name, value)
        for _, callback in self._callbacks[kind]:
            callback(old, value)

    def remove(self, value: KubeObject) -> None:
        """An object is gone."""
        kind = type(value)
        old = self.lister(kind).remove(value.namespace, value.name)
        if old is not None:
            for _, callback in self._callbacks[kind]:
                callback(old, None)
