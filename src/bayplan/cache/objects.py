"""Objects of every kind, by name: what plugins look up besides pods and nodes.

Fed by the watch (or by a test, or a replay); read by plugins through listers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast

from bayplan.model import KubeObject

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
        self._kinds: defaultdict[type[Any], Kept[Any]] = defaultdict(self._new_kind)
        self._custom: defaultdict[tuple[str, str], Kept[dict[str, Any]]] = defaultdict(self._new_kind)
        self._callbacks: defaultdict[type[Any], list[Callable[[Any, Any], None]]] = defaultdict(list)
        #: Changes with every change of any object.
        self.generation = 0

    def _new_kind(self) -> Kept[Any]:
        return Kept(self._note_change)

    def _note_change(self) -> None:
        self.generation += 1

    @property
    def kinds(self) -> Sequence[type[Any]]:
        """The kinds that somebody asked for: those to be watched."""
        return tuple({*self._kinds, *self._callbacks})

    @property
    def custom_kinds(self) -> Sequence[tuple[str, str]]:
        """The same for custom resources: apiVersion and plural."""
        return tuple(self._custom)

    def lister(self, kind: type[T]) -> Kept[T]:
        return cast("Kept[T]", self._kinds[kind])

    def custom(self, api_version: str, plural: str) -> Kept[dict[str, Any]]:
        return self._custom[api_version, plural]

    def on_change(self, kind: type[T], callback: Callable[[T | None, T | None], None]) -> None:
        self._callbacks[kind].append(callback)

    def set(self, value: KubeObject) -> None:
        """An object is new or changed."""
        kind = type(value)
        old = self._kinds[kind].set(value.namespace, value.name, value)
        for callback in self._callbacks[kind]:
            callback(old, value)

    def remove(self, value: KubeObject) -> None:
        """An object is gone."""
        kind = type(value)
        old = self._kinds[kind].remove(value.namespace, value.name)
        if old is not None:
            for callback in self._callbacks[kind]:
                callback(old, None)
