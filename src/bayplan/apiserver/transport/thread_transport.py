"""The API server from another thread: a `LocalTransport` whose requests are handled in the server's own thread.

The server stays single-threaded: requests are handed over to its event loop, and responses handed back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Final

from bayplan.apiserver.transport.api_messages import ApiResponse
from bayplan.apiserver.transport.local_transport import LocalTransport, body_of
from bayplan.client.errors import TransportError
from bayplan.client.transport import JSON, Query


class ThreadTransport:
    """Implements `client.Transport` with an API server in another thread, whose mailbox is *home*."""

    def __init__(self, local: LocalTransport, home: Mailbox, here: Mailbox) -> None:
        """*here* is the mailbox of the thread that sends requests."""
        self._local = local
        self._home = home
        self._here = here
        self._closed = False

    def sibling(self, *, timeout_seconds: float, max_connections: int, user_agent: str) -> ThreadTransport:
        """Another transport for the same server."""
        local = self._local.sibling(
            timeout_seconds=timeout_seconds, max_connections=max_connections, user_agent=user_agent
        )
        return ThreadTransport(local, self._home, self._here)

    async def request_bytes(
        self,
        method: str,
        path: str,
        body: object | None = None,
        *,
        query: Query | None = None,
        content_type: str = JSON,
        before_send: Callable[[], None] | None = None,
    ) -> bytes:
        """The response as it came. *body* is encoded as JSON unless it is bytes; *before_send* may refuse it."""
        if self._closed:
            raise TransportError("the connection was closed", sent=False)
        if before_send is not None:
            before_send()
        answer: asyncio.Future[ApiResponse] = self._here.loop.create_future()

        def answered(response: ApiResponse) -> None:
            self._here.post(lambda: None if answer.done() else answer.set_result(response))

        def handle() -> None:
            try:
                self._local.handle(method, path, body, query, content_type, answered)
            except Exception as error:
                self._here.post(partial(_fail, answer, error))

        self._home.post(handle)
        return body_of(await answer)

    @contextlib.asynccontextmanager
    async def stream(self, path: str, query: Query | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """A GET whose response is a stream, until the end of the block."""
        pieces = Pieces(self._here)
        reading = asyncio.run_coroutine_threadsafe(self._read(path, query, pieces), self._home.loop)
        try:
            await pieces.opened
            yield pieces
        finally:
            reading.cancel()

    async def _read(self, path: str, query: Query | None, pieces: Pieces) -> None:
        """In the server's thread."""
        try:
            async with self._local.stream(path, query) as stream:
                pieces.put(None)
                async for piece in stream:
                    pieces.put(piece)
        except Exception as error:
            pieces.put(error)
        finally:
            pieces.put(StopAsyncIteration())

    async def close(self) -> None:
        """Requests fail from now on."""
        self._closed = True


def _fail(answer: asyncio.Future[ApiResponse], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)


class Mailbox:
    """Calls functions in the thread of *loop*, in the order in which other threads post them.

    Waking a loop is a system call, so a loop is woken once for all that was posted since it last looked.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop: Final = loop
        self._posted: deque[Callable[[], None]] = deque()
        self._is_woken = False

    def post(self, function: Callable[[], None]) -> None:
        self._posted.append(function)
        if not self._is_woken:
            self._is_woken = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is there any more
                self.loop.call_soon_threadsafe(self._call_posted)

    def _call_posted(self) -> None:
        self._is_woken = False  # first: what is posted from now on wakes the loop again
        for _ in range(len(self._posted)):
            self._posted.popleft()()


class Pieces:
    """The pieces of a stream, put by one thread and taken by another, the one that reads the mailbox *here*."""

    def __init__(self, here: Mailbox) -> None:
        self._here = here
        self._arrived: deque[bytes | Exception] = deque()
        self._wakeup: asyncio.Future[None] | None = None
        #: Done when the stream has begun, or has failed to.
        self.opened: asyncio.Future[None] = here.loop.create_future()

    def put(self, piece: bytes | Exception | None) -> None:
        """In the other thread; None first, when the stream has begun."""
        self._here.post(lambda: self._take_in(piece))

    def _take_in(self, piece: bytes | Exception | None) -> None:
        if self.opened.done():
            if piece is not None:
                self._arrived.append(piece)
            if self._wakeup is not None and not self._wakeup.done():
                self._wakeup.set_result(None)
        elif isinstance(piece, Exception):
            self.opened.set_exception(piece)
        else:
            self.opened.set_result(None)

    def __aiter__(self) -> Pieces:
        return self

    async def __anext__(self) -> bytes:
        while not self._arrived:
            self._wakeup = self._here.loop.create_future()
            await self._wakeup
        piece: Any = self._arrived.popleft()
        if isinstance(piece, Exception):
            raise piece
        return bytes(piece)
