"""Calls: requests within the rate limit, tried again by cause.

- 429, or a Retry-After: the server did not take the request; whatever it was, it is sent again when asked to.
- 5xx, a cut connection, no answer: sent again if that is safe (`repeatable`), after a jittered backoff.
- a connection that was never made: always safe.
- any other answer is an answer: 404 and 409 are not tried again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine
from typing import Any

from bayplan.client.backoff import Backoff, Random, jittered
from bayplan.client.errors import ApiError, ClientError, TransportError
from bayplan.client.ratelimit import TokenBucket
from bayplan.client.transport import JSON, Query, Transport
from bayplan.framework import Clock

#: As client-go: so often is a request sent that the server asks us to send later.
MAX_TRIES_WHEN_ASKED = 10
MAX_TRIES = 5
_FIRST_BACKOFF_SECONDS = 0.1
_LONGEST_BACKOFF_SECONDS = 2.0
_RETRY_AFTER_JITTER = 0.2


class Tries:
    """The tries of one call: how many, and how long until the next."""

    def __init__(self, clock: Clock, rng: Random) -> None:
        self._clock = clock
        self._rng = rng
        self._backoff = Backoff(_FIRST_BACKOFF_SECONDS, _LONGEST_BACKOFF_SECONDS, rng=rng)
        self._count = 0

    async def wait(self, error: ClientError, *, repeatable: bool) -> None:
        """Return when the call is to be tried again after *error*; raise it if it is not."""
        self._count += 1
        asked = isinstance(error, ApiError) and is_asked_to_wait(error)
        limit = MAX_TRIES_WHEN_ASKED if asked else MAX_TRIES
        if self._count >= limit or not (asked or (is_passing(error) and (repeatable or was_not_sent(error)))):
            raise error
        delay = self._backoff.next_delay(self._clock.monotonic())
        if isinstance(error, ApiError) and error.retry_after is not None:
            delay = jittered(error.retry_after, _RETRY_AFTER_JITTER, self._rng)
        await self._clock.sleep(delay)


def is_asked_to_wait(error: ApiError) -> bool:
    """Whether the server did not take the request, and says so."""
    return error.status == 429 or (error.status >= 500 and error.retry_after is not None)


def is_passing(error: ClientError) -> bool:
    """Whether the trouble may be over soon."""
    return isinstance(error, TransportError) or (isinstance(error, ApiError) and error.status >= 500)


def was_not_sent(error: ClientError) -> bool:
    return isinstance(error, TransportError) and not error.sent


class Calls:
    """Requests of one client: one rate limit, one policy."""

    def __init__(
        self, transport: Transport, clock: Clock, limiter: TokenBucket, *, rng: Random = random.random
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._limiter = limiter
        self._rng = rng

    def tries(self) -> Tries:
        return Tries(self._clock, self._rng)

    def once(
        self,
        method: str,
        path: str,
        body: object | None = None,
        *,
        query: Query | None = None,
        content_type: str = JSON,
        before_send: Callable[[], None] | None = None,
    ) -> Coroutine[Any, Any, bytes]:
        """One request within the rate limit, to be awaited at once; mostly there is no limit to be waited for."""
        delay = self._limiter.reserve()
        request = self._transport.request_bytes(
            method, path, body, query=query, content_type=content_type, before_send=before_send
        )
        return self._after(delay, request) if delay > 0 else request

    async def _after(self, delay: float, request: Coroutine[Any, Any, bytes]) -> bytes:
        try:
            await self._clock.sleep(delay)
        except BaseException:
            request.close()
            raise
        return await request

    async def call(
        self,
        method: str,
        path: str,
        body: object | None = None,
        *,
        repeatable: bool,
        query: Query | None = None,
        content_type: str = JSON,
        before_send: Callable[[], None] | None = None,
    ) -> bytes:
        """A request, tried again by cause. *before_send* is asked every time, and may raise instead."""
        tries: Tries | None = None
        while True:
            try:
                return await self.once(
                    method, path, body, query=query, content_type=content_type, before_send=before_send
                )
            except ClientError as error:
                tries = tries or self.tries()
                await tries.wait(error, repeatable=repeatable)
