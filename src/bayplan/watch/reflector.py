"""A reflector keeps a local store equal to one collection of the API server: list once, then watch.

        ┌────────── expired (410) ──────────┐
        ▼                                   │
      list ──▶ replace ──▶ synced ──▶ watch ┤
        ▲                      ▲            │
        └── backoff ◀─ error   └── resume ◀─┘ ended, cut, refused

In: a `Source` of lists and watches. Out: updates of its `LocalStore`, which calls back on every change. A list
after a gap also yields the deletions that were missed.
"""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Final, Generic, TypeVar

import msgspec

from bayplan.client.errors import ApiError, ClientError, NotFoundError, ResourceExpiredError, api_error
from bayplan.client.flow_control import Backoff, Random, jittered
from bayplan.framework import Clock
from bayplan.watch.decoder import (
    ADDED,
    BOOKMARK,
    ERROR,
    MODIFIED,
    WatchDecoder,
    WatchError,
    WatchEvent,
    read_head,
)
from bayplan.watch.local_store import LocalStore, WatchedResource
from bayplan.watch.pager import Source, list_all

logger = logging.getLogger("bayplan.watch")

T = TypeVar("T")

#: As in client-go: a watch lasts five to ten minutes, so that watches do not all restart at the same time.
WATCH_SECONDS = 300.0
#: How late the server may end a watch before we end it.
_GRACE_SECONDS = 30.0
#: A watch that ends sooner than this without an event is a failure, or we would retry in a tight loop.
_SHORT_SECONDS = 1.0
#: The event loop runs after this many objects of a long list.
_SLICE = 200
#: A resource that the server does not serve is tried again this often: its definition may be created.
MISSING_SECONDS = 30.0


def client_go_backoff(rng: Random = random.random) -> Backoff:
    """0.8 s, doubled up to 30 s, jittered by as much again; reset after two quiet minutes."""
    return Backoff(0.8, 30.0, reset_after=120.0, rng=rng)


class Reflector(Generic[T]):
    """List and watch of one resource; see the module's docstring."""

    def __init__(
        self,
        source: Source,
        resource: WatchedResource[T],
        clock: Clock,
        *,
        rng: Random = random.random,
    ) -> None:
        self._source = source
        self._resource = resource
        self._clock = clock
        self._rng = rng
        self._backoff = client_go_backoff(rng)
        self.store: Final = LocalStore(resource)
        self._resource_version = "0"
        self._must_list = True
        self._missing = False
        #: Set when the first list is in the store.
        self.synced = asyncio.Event()

    @property
    def resource_version(self) -> str:
        """Of the last list, event or bookmark."""
        return self._resource_version

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                if self._must_list:
                    await self._list()
                delay = await self._watch()
            except ResourceExpiredError as error:
                delay = self._expired(error)
            except NotFoundError as error:
                delay = await self._not_served(error)
            except (ClientError, WatchError, msgspec.DecodeError) as error:
                delay = self._next_delay()
                if isinstance(error, ApiError) and error.retry_after is not None:
                    delay = max(delay, jittered(error.retry_after, 0.2, self._rng))
                what = "list" if self._must_list else "watch"
                logger.warning(
                    "Cannot %s %s, trying again in %.1f s: %s", what, self._resource.name, delay, describe(error)
                )
            if delay:
                await self._clock.sleep(delay)

    # --- list ---------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        listing = await list_all(self._source, self._resource.path, self._resource.query, self._resource_version)
        await self._replace(listing.items)
        self._resource_version = listing.resource_version
        self._must_list = self._missing = False
        if not self.synced.is_set():
            logger.debug("Caches populated: type=%s objects=%d", self._resource.name, len(self.store.objects))
            self.synced.set()

    async def _replace(self, items: list[bytes]) -> None:
        """Make the store equal to the list, change by change."""
        seen = set()
        for i, data in enumerate(items, 1):
            identity = self.store.update(data, only_if_changed=True)
            if identity is not None:
                seen.add(identity[0])
            if i % _SLICE == 0:
                await asyncio.sleep(0)
        self.store.retain(seen)

    def _expired(self, error: ResourceExpiredError) -> float:
        """Our resourceVersion has expired: list again, and the second time in a row without a version."""
        logger.debug("Listing %s again: %s", self._resource.name, error)
        was_listing, self._must_list = self._must_list, True
        if not was_listing:
            return 0.0
        if not self._resource_version:
            return self._next_delay()
        self._resource_version = ""
        return 0.0

    async def _not_served(self, error: NotFoundError) -> float:
        """A custom resource without its definition: it has no objects for now."""
        if not self._missing:
            logger.warning("The server does not serve %s; going on without: %s", self._resource.name, error)
        self._missing = self._must_list = True
        await self._replace([])
        self._resource_version = "0"
        self.synced.set()
        return jittered(MISSING_SECONDS, 0.5, self._rng)

    # --- watch --------------------------------------------------------------------------------------------

    async def _watch(self) -> float:
        """Follow one watch to its end; returns the seconds to wait before the next one."""
        seconds = jittered(WATCH_SECONDS, 1.0, self._rng)
        query: dict[str, str | int] = {
            **self._resource.query,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._resource_version,
            "timeoutSeconds": int(seconds),
        }
        began = self._clock.monotonic()
        n_events = 0
        decoder = WatchDecoder()
        try:
            async with (
                asyncio.timeout(seconds + _GRACE_SECONDS),
                self._source.stream(self._resource.path, query) as stream,
            ):
                async for data in stream:
                    for event in decoder.feed(data):
                        self._apply(event)
                        n_events += event.type != BOOKMARK
            decoder.finish()
        except TimeoutError:
            pass  # the server forgot to end it
        except (ClientError, WatchError) as error:
            if isinstance(error, ApiError) or not n_events:
                raise
            logger.debug("Watch of %s was cut, resuming: %s", self._resource.name, error)
        if n_events or self._clock.monotonic() - began >= _SHORT_SECONDS:
            self._backoff.reset()
            return 0.0
        return self._next_delay()

    def _next_delay(self) -> float:
        return self._backoff.next_delay(self._clock.monotonic())

    def _apply(self, event: WatchEvent) -> None:
        if event.type == ERROR:
            raise _error_of(event.object)
        identity = self.store.update(event.object) if event.type in (ADDED, MODIFIED) else None
        if identity is not None:
            version = identity[2]
        else:
            head = read_head(event.object)
            version = head.metadata.resource_version
            if event.type != BOOKMARK:
                self.store.remove(head.key)
        if version:
            self._resource_version = version


def _error_of(data: bytes) -> ApiError:
    """The error that an ERROR event carries: a metav1.Status with its code."""
    try:
        code = msgspec.json.decode(data, type=_Code).code
    except msgspec.DecodeError:
        code = 0
    return api_error(code or 500, data)


class _Code(msgspec.Struct):
    code: int = 0


def describe(error: Exception) -> str:
    """One line for the log."""
    if isinstance(error, ApiError):
        return f"{error.status} {error.reason}: {error}" if error.reason else f"{error.status}: {error}"
    return str(error) or type(error).__name__
