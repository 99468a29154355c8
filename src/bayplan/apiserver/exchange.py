"""A request and its answer, free of HTTP: what `http` and `local` translate to and from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec


class User(msgspec.Struct, frozen=True):
    """Who asks."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""


#: The user behind the token of the kubeconfig, and of everything in the same process.
ADMIN = User("bayplan-admin", ("system:masters", "system:authenticated"))


class Request(msgspec.Struct, frozen=True):
    """One request. Query values are decoded; a parameter given twice has two values."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]] = {}
    body: bytes = b""
    content_type: str = "application/json"
    accept: str = "application/json"
    user_agent: str = ""
    user: User = ADMIN

    def first(self, parameter: str) -> str:
        values = self.query.get(parameter)
        return values[0] if values else ""


class Stream(AsyncIterator[bytes]):
    """An answer that goes on until it is closed."""

    def close(self) -> None:
        """Nobody listens any more."""


class Response(msgspec.Struct):
    """A whole answer (`body`), or one that goes on (`stream`: a watch, each item one or more whole frames)."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    #: Texts of `Warning: 299 - "…"` headers.
    warnings: tuple[str, ...] = ()
    headers: Mapping[str, str] = {}
    stream: Stream | None = None

    def close(self) -> None:
        """End the stream, if it is one."""
        if self.stream is not None:
            self.stream.close()
