"""Informers: one reflector for each kind that somebody asks for. Implements `framework.Informers`.

Plugins ask while they are constructed, so everything is known before the first watch starts; what is asked for
later is watched from then on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, cast

from bayplan.framework import Clock
from bayplan.model import KubeObject, Pod
from bayplan.watch.listing import Source
from bayplan.watch.reflector import Reflector
from bayplan.watch.resource import LIVE_PODS, WatchedResource, custom_resource, resource_of

logger = logging.getLogger("bayplan.watch")

T = TypeVar("T")
Callback = Callable[[T | None, T | None], None]

#: Kinds of which not all objects are wanted.
FIELD_SELECTORS: Mapping[type[KubeObject], str] = {Pod: LIVE_PODS}


class InformerFailure(NamedTuple):
    """A resource that is no longer watched, and what ended the watch."""

    name: str
    error: BaseException


class Informer(Generic[T]):
    """The objects of one kind and who wants to know about them. Implements `framework.Lister`."""

    def __init__(self, source: Source, resource: WatchedResource[T], clock: Clock) -> None:
        self._callbacks: list[Callback[T]] = []
        self.reflector: Reflector[T] = Reflector(source, resource, self._changed, clock)
        self.name = resource.name

    def get(self, name: str, namespace: str = "") -> T | None:
        return self.reflector.objects.get(f"{namespace}/{name}" if namespace else name)

    def list(self, namespace: str | None = None) -> Sequence[T]:
        objects = self.reflector.objects
        if namespace is None:
            return list(objects.values())
        prefix = f"{namespace}/"
        return [
            value for key, value in objects.items() if (key.startswith(prefix) if namespace else "/" not in key)
        ]

    def add(self, callback: Callback[T]) -> None:
        """Call *callback* on every change; it is told at once about what is there already."""
        self._callbacks.append(callback)
        for value in list(self.reflector.objects.values()):
            callback(None, value)

    def _changed(self, old: T | None, new: T | None) -> None:
        for callback in self._callbacks:
            try:
                callback(old, new)
            except Exception:
                logger.exception("A callback on changes of %s failed", self.name)


class Informers:
    """See the module's text."""

    def __init__(
        self,
        source: Source,
        clock: Clock,
        *,
        field_selectors: Mapping[type[KubeObject], str] = FIELD_SELECTORS,
    ) -> None:
        self._source = source
        self._clock = clock
        self._field_selectors = field_selectors
        self._informers: dict[object, Informer[Any]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._started = False
        self._failures: asyncio.Queue[InformerFailure] = asyncio.Queue()

    # --- asking -------------------------------------------------------------------------------------------

    def lister(self, kind: type[T]) -> Informer[T]:
        """The objects of a kind of `bayplan.model`."""
        if kind not in self._informers:
            typed = cast("type[KubeObject]", kind)
            self._add(kind, resource_of(typed, field_selector=self._field_selectors.get(typed, "")))
        return cast("Informer[T]", self._informers[kind])

    def custom(self, api_version: str, plural: str) -> Informer[dict[str, Any]]:
        """The objects of any other resource, as dictionaries."""
        key = (api_version, plural)
        if key not in self._informers:
            self._add(key, custom_resource(api_version, plural))
        return self._informers[key]

    def watched(self, resource: WatchedResource[T]) -> Informer[T]:
        """The objects of a resource, decoded as it says."""
        if resource not in self._informers:
            self._add(resource, resource)
        return cast("Informer[T]", self._informers[resource])

    def on_change(self, kind: type[T], callback: Callback[T]) -> None:
        self.lister(kind).add(callback)

    def on_custom_change(self, api_version: str, plural: str, callback: Callback[dict[str, Any]]) -> None:
        self.custom(api_version, plural).add(callback)

    def _add(self, key: object, resource: WatchedResource[Any]) -> None:
        informer: Informer[Any] = Informer(self._source, resource, self._clock)
        self._informers[key] = informer
        if self._started:
            self._start_one(informer)

    # --- running ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to watch everything asked for."""
        self._started = True
        for informer in self._informers.values():
            self._start_one(informer)

    def _start_one(self, informer: Informer[Any]) -> None:
        task = asyncio.create_task(informer.reflector.run(), name=f"watch {informer.name}")
        task.add_done_callback(partial(self._ended, informer.name))
        self._tasks.append(task)

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failures.put_nowait(InformerFailure(name, error))

    async def wait_synced(self) -> None:
        """Until every first list was handed on."""
        for informer in list(self._informers.values()):
            await informer.reflector.synced.wait()

    @property
    def is_synced(self) -> bool:
        return self._started and not self.unsynced()

    def unsynced(self) -> Iterable[str]:
        """What has not been listed yet, by name."""
        return [each.name for each in self._informers.values() if not each.reflector.synced.is_set()]

    async def wait_failed(self) -> InformerFailure:
        """Return when a reflector has ended for good, which is a defect: trouble with the server ends none."""
        return await self._failures.get()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self._started = False
