"""What goes over a connection: a request and its reply, in no protocol's form."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

from bayplan.client import header_block


class SharedHeaders:
    """What all requests with one credential have in common, ready in both forms."""

    def __init__(self, authority: str, pairs: Sequence[tuple[str, str]]) -> None:
        if any("\r" in part or "\n" in part for pair in (("", authority), *pairs) for part in pair):
            raise ValueError("a header must be one line")
        self.lines = "".join(f"{name}: {value}\r\n" for name, value in (("Host", authority), *pairs))
        self.block = header_block.shared(authority, pairs)


class Request:
    """One request; *target* is the path with its query."""

    __slots__ = ("content", "content_type", "headers", "method", "target")

    def __init__(
        self,
        method: str,
        target: str,
        headers: SharedHeaders,
        content: bytes | None = None,
        content_type: str = "",
    ) -> None:
        self.method: Final = method
        self.target: Final = target
        self.headers: Final = headers
        self.content: Final = content
        self.content_type: Final = content_type


class Reply:
    """A whole answer, or the head of a streamed one, whose body comes through `Connection.body`."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> None:
        self.status: Final = status
        #: HTTP/2 leaves them out where the request has succeeded.
        self.headers: Final = headers
        self.body: Final = body


class Lane(Protocol):
    """Carries one exchange at a time: an HTTP/1.1 connection, or one of the places on an HTTP/2 connection."""

    #: Set by the pool: when the reply under way is overdue, by the loop's time.
    deadline: float
    idle_since: float

    @property
    def is_open(self) -> bool:
        """Whether it takes another request."""

    def send(self, request: Request) -> asyncio.Future[Reply]:
        """Write a request; the future has its reply, or TransportError."""

    def abandon(self) -> None:
        """Nobody waits for the reply any more."""

    def expire(self, why: str) -> None:
        """The reply is overdue: fail the exchange under way."""

    def retire(self) -> None:
        """Take no more requests; what is under way goes on."""

    def close(self) -> None:
        """Close the connection at once; what is under way fails."""
