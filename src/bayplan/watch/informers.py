"""Informers: one reflector for each resource, or part of one, that is in use.

In: a `Source` of lists and watches. Out: listers, and callbacks on changes. Plugins ask for listers while they are
constructed, so most kinds are known before the first watch starts; a kind that is asked for later is watched from
then on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from bayplan.framework import Clock
from bayplan.framework.object_selection import ObjectSelection
from bayplan.model import KubeObject, Pod
from bayplan.watch.local_store import (
    LIVE_PODS,
    Callback,
    WatchedResource,
    custom_resource,
    resource_of,
    selected_resource,
)
from bayplan.watch.pager import Source
from bayplan.watch.reflector import Reflector

T = TypeVar("T")

#: Kinds of which only some objects are watched.
FIELD_SELECTORS: Final[Mapping[type[KubeObject], str]] = {Pod: LIVE_PODS}


class InformerFailure(NamedTuple):
    """A resource that is no longer watched, and the error that ended the watch."""

    name: str
    error: BaseException


class Informer(Generic[T]):
    """The objects of one kind and the callbacks on their changes. Implements `framework.Lister`."""

    def __init__(self, source: Source, resource: WatchedResource[T], clock: Clock) -> None:
        self.reflector: Reflector[T] = Reflector(source, resource, clock)
        self._objects = self.reflector.store.objects
        self.name = resource.name
        self.path = resource.path

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._objects.get(f"{namespace}/{name}" if namespace else name)

    def list(self, namespace: str | None = None) -> Sequence[T]:
        objects = self._objects
        if namespace is None:
            return list(objects.values())
        prefix = f"{namespace}/"
        return [
            value for key, value in objects.items() if (key.startswith(prefix) if namespace else "/" not in key)
        ]

    def add(self, callback: Callback[T]) -> None:
        """Call *callback* on every change, and now for every object that is already there."""
        self.reflector.store.subscribe(callback)


class InformerFactory:
    """The informers of all kinds in use; see the module's docstring."""

    def __init__(self, source: Source, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._informers: dict[object, Informer[Any]] = {}
        self._tasks: dict[Informer[Any], asyncio.Task[None]] = {}
        self._started = False
        self._failures: asyncio.Queue[InformerFailure] = asyncio.Queue()

    # --- listers ------------------------------------------------------------------------------------------

    def lister(self, kind: type[T]) -> Informer[T]:
        """The objects of a kind of `bayplan.model`."""
        if kind not in self._informers:
            typed = cast("type[KubeObject]", kind)
            self._add(kind, resource_of(typed, field_selector=FIELD_SELECTORS.get(typed, "")))
        return cast("Informer[T]", self._informers[kind])

    def custom(self, api_version: str, plural: str) -> Informer[dict[str, Any]]:
        """The objects of any other resource, as dictionaries."""
        key = (api_version, plural)
        if key not in self._informers:
            self._add(key, custom_resource(api_version, plural))
        return self._informers[key]

    def on_selected_change(self, selection: ObjectSelection, callback: Callback[Any]) -> None:
        """On changes of a part of the objects of a resource."""
        if selection not in self._informers:
            self._add(selection, selected_resource(selection))
        self._informers[selection].add(callback)

    def watched(self, resource: WatchedResource[T]) -> Informer[T]:
        """The objects of a resource with a decoder of its own."""
        if resource not in self._informers:
            self._add(resource, resource)
        return cast("Informer[T]", self._informers[resource])

    def on_change(self, kind: type[T], callback: Callback[T]) -> None:
        self.lister(kind).add(callback)

    def on_custom_change(self, api_version: str, plural: str, callback: Callback[dict[str, Any]]) -> None:
        self.custom(api_version, plural).add(callback)

    async def drop(self, resource: WatchedResource[Any]) -> None:
        """Stop watching a resource that `watched` returned; its objects are removed, which callbacks see."""
        informer = self._informers.pop(resource, None)
        if informer is None:
            return
        task = self._tasks.pop(informer, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        informer.reflector.store.retain(())

    def _add(self, key: object, resource: WatchedResource[Any]) -> None:
        informer: Informer[Any] = Informer(self._source, resource, self._clock)
        self._informers[key] = informer
        if self._started:
            self._start_one(informer)

    # --- running ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start all watches."""
        self._started = True
        for informer in self._informers.values():
            self._start_one(informer)

    def _start_one(self, informer: Informer[Any]) -> None:
        task = asyncio.create_task(informer.reflector.run(), name=f"watch {informer.name}")
        task.add_done_callback(partial(self._ended, informer.name))
        self._tasks[informer] = task

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failures.put_nowait(InformerFailure(name, error))

    async def wait_synced(self) -> None:
        """Until the first list of every kind is in its store."""
        for informer in list(self._informers.values()):
            await informer.reflector.synced.wait()

    @property
    def is_synced(self) -> bool:
        return self._started and not self.unsynced()

    def unsynced(self) -> Iterable[str]:
        """The names of the resources that have not been listed yet."""
        return [each.name for each in self._informers.values() if not each.reflector.synced.is_set()]

    def store_versions(self) -> Iterable[tuple[str, str]]:
        """The path of each resource, and the resourceVersion up to which its objects are known."""
        return [(each.path, each.reflector.resource_version) for each in self._informers.values()]

    async def wait_failed(self) -> InformerFailure:
        """Return when a reflector has ended. That is a bug: errors of the server end none."""
        return await self._failures.get()

    async def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._tasks.clear()
        self._started = False
