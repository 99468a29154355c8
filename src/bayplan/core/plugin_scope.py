"""PluginScope: what one instance of a plugin has asked for and started, so that all of it ends with the instance.

`PluginInformers` is what the plugin sees of the stores: every callback and index belongs to its scope.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from bayplan.core.background_work import BackgroundRunner, BackgroundWork
from bayplan.framework import PluginError
from bayplan.framework.object_selection import select_objects
from bayplan.model import KubeObject

if TYPE_CHECKING:
    from bayplan.cache.object_store import ObjectStore, ObjectStores
    from bayplan.framework import Plugin
    from bayplan.framework.watched_objects import IndexKeys

T = TypeVar("T")


class PluginScope:
    """Owns the callbacks, indexes and background work of one instance."""

    def __init__(
        self, name: str, objects: ObjectStores, background: BackgroundRunner, plugin: type[Plugin] | None = None
    ) -> None:
        #: The plugin's.
        self.name: Final = name
        #: The class of the instance; None if there is none.
        self.plugin: Final = plugin
        #: Whether the instance is in use: what it asks for now, it is told about at once.
        self.is_adopted = False
        #: Whether the instance was replaced, or the scheduler stops.
        self.is_over = False
        self._objects = objects
        self._background = background
        self._work: list[BackgroundWork] = []
        self._at_end: list[Callable[[], None]] = []

    def spawn(
        self, work: Coroutine[Any, Any, object] | Callable[[], Coroutine[Any, Any, object]], *, name: str = ""
    ) -> BackgroundWork:
        made = BackgroundWork(self.name, work, name)
        if self.is_over:
            made.discard()
            return made
        self._work = [each for each in self._work if not each.is_done]
        self._work.append(made)
        self._background.start(made)
        return made

    def at_end(self, callback: Callable[[], None]) -> None:
        """Call *callback* when the instance is not used any more."""
        self._at_end.append(callback)

    def end(self) -> None:
        """The instance is not used any more, or never was."""
        self.is_over = True
        for callback in self._at_end:
            callback()
        self._objects.remove_callbacks(self)
        for work in self._work:
            work.cancel()
        self._work.clear()


class PluginInformers:
    """Implements `framework.Informers` for one plugin."""

    def __init__(self, objects: ObjectStores, scope: PluginScope) -> None:
        self._objects = objects
        self._scope = scope

    def lister(self, kind: Any, *, namespace: str = "", labels: str = "", fields: str = "") -> ObjectStore[Any]:
        return self._objects.selected(select_objects(kind, namespace=namespace, labels=labels, fields=fields))

    def custom(self, api_version: str, plural: str) -> ObjectStore[dict[str, Any]]:
        return self._objects.custom(api_version, plural)

    def on_change(
        self, kind: Any, callback: Any, *, namespace: str = "", labels: str = "", fields: str = ""
    ) -> None:
        _check_callback(callback)
        store = self.lister(kind, namespace=namespace, labels=labels, fields=fields)
        store.subscribe(self._scope, callback, replay=self._scope.is_adopted)

    def index(
        self, kind: Any, keys: Any, *, namespace: str = "", labels: str = "", fields: str = ""
    ) -> ObjectIndex[Any]:
        if not callable(keys):
            raise PluginError(f"informers.index needs a function from an object to its keys, not {keys!r:.80}")
        made: ObjectIndex[Any] = ObjectIndex(keys)
        self.on_change(kind, made.changed, namespace=namespace, labels=labels, fields=fields)
        return made


class ObjectIndex(Generic[T]):
    """Implements `framework.Index`."""

    def __init__(self, keys: IndexKeys[T]) -> None:
        self._keys = keys
        #: Value → key of an object → the object.
        self._found: dict[str, dict[str, T]] = {}

    def get(self, value: str) -> Sequence[T]:
        return list(self._found.get(value, {}).values())

    def values(self) -> Collection[str]:
        return list(self._found)

    def changed(self, old: T | None, new: T | None) -> None:
        if old is not None:
            self._remove(old)
        if new is not None:
            key = _key_of(new)
            for value in self._values_of(new):
                self._found.setdefault(value, {})[key] = new

    def _remove(self, old: T) -> None:
        key = _key_of(old)
        for value in self._values_of(old):
            there = self._found.get(value, {})
            there.pop(key, None)
            if not there:
                self._found.pop(value, None)

    def _values_of(self, value: T) -> Iterable[str]:
        found = self._keys(value)
        return () if found is None else (found,) if isinstance(found, str) else tuple(found)


def _key_of(value: Any) -> str:
    if isinstance(value, KubeObject):
        return value.key
    metadata = value["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def _check_callback(callback: Any) -> None:
    if not callable(callback):
        raise PluginError(f"informers.on_change needs a function callback(old, new), not {callback!r:.80}")
    if inspect.iscoroutinefunction(callback):
        raise PluginError(
            "informers.on_change needs a plain function callback(old, new), not an async one; "
            "spawn what has to wait with handle.spawn"
        )
    try:
        inspect.signature(callback).bind(None, None)
    except ValueError:
        pass  # of a builtin, which cannot be looked at
    except TypeError:
        raise PluginError(
            f"informers.on_change calls callback(old, new), but this one takes {inspect.signature(callback)}"
        ) from None
