"""Controller: changes of watched objects queue keys, each key is reconciled, failures are retried."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, TypeAlias

from bayplan.client import ApiError, ConflictError, KubeClient, TransportError
from bayplan.controllers.api_objects import Object, key_of
from bayplan.controllers.core_events import CoreEventRecorder
from bayplan.controllers.pod_view import PODS, PodView
from bayplan.controllers.workqueue import WorkQueue
from bayplan.framework import Clock
from bayplan.model import Node
from bayplan.watch.informers import Informer, InformerFactory

logger = logging.getLogger("bayplan.controllers")

#: How many objects one controller reconciles at the same time.
WORKERS: Final = 5

Dictionaries: TypeAlias = Informer[Object]


class Controller(ABC):
    """Subclasses declare in `watch` what they watch, and reconcile one key in `reconcile`."""

    #: The source of its events.
    name: ClassVar[str]

    def __init__(self, client: KubeClient, informers: InformerFactory, clock: Clock) -> None:
        self.client = client
        self.clock = clock
        self.events = CoreEventRecorder(client, clock, self.name)
        self.queue = WorkQueue()
        self._informers = informers
        self.watch()

    @abstractmethod
    def watch(self) -> None:
        """Request informers."""

    @abstractmethod
    async def reconcile(self, key: str) -> float | None:
        """Reconcile the object of *key* (`namespace/name`); returns after how many seconds to do so again."""

    # --- informers ----------------------------------------------------------------------------------------

    def objects(
        self, api_version: str, plural: str, keys: Callable[[Object], Sequence[str]] | None = None
    ) -> Dictionaries:
        """The objects of a resource; a change queues the object itself, or the keys that *keys* returns."""
        informer = self._informers.custom(api_version, plural)
        of_object = keys if keys is not None else _own_key

        def changed(old: Object | None, new: Object | None) -> None:
            for obj in (old, new):
                if obj is not None:
                    for key in of_object(obj):
                        self.queue.add(key)

        informer.add(changed)
        return informer

    def pods(self, changed: Callable[[PodView | None, PodView | None], None] | None = None) -> Informer[PodView]:
        """All pods."""
        informer = self._informers.watched(PODS)
        if changed is not None:
            informer.add(changed)
        return informer

    def nodes(self, changed: Callable[[Node | None, Node | None], None] | None = None) -> Informer[Node]:
        """All nodes."""
        informer = self._informers.lister(Node)
        if changed is not None:
            informer.add(changed)
        return informer

    # --- running ------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(WORKERS):
                    group.create_task(self._work())
        finally:
            self.queue.close()

    async def _work(self) -> None:
        while True:
            key = await self.queue.take()
            try:
                again = await self.reconcile(key)
            except ConflictError:
                self.queue.failed(key)
            except (ApiError, TransportError) as error:
                logger.info("%s: %s failed and will be retried: %s", self.name, key, error)
                self.queue.failed(key)
            except Exception:
                logger.exception("%s: %s failed", self.name, key)
                self.queue.failed(key)
            else:
                self.queue.done(key)
                if again is not None:
                    self.queue.add_after(key, again)


def _own_key(obj: dict[str, Any]) -> Sequence[str]:
    return (key_of(obj),)
