"""Requests and responses independent of HTTP; `http_connection` and `local_transport` translate to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec


class UserInfo(msgspec.Struct, frozen=True):
    """The authenticated user."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""


#: The user of the kubeconfig's token, and of everything in the same process.
ADMIN = UserInfo("bayplan-admin", ("system:masters", "system:authenticated"))


class ApiRequest(msgspec.Struct, frozen=True):
    """One request. Query values are decoded; a repeated parameter has several values."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]] = {}
    body: bytes = b""
    content_type: str = "application/json"
    accept: str = "application/json"
    user_agent: str = ""
    user: UserInfo = ADMIN

    def first(self, parameter: str) -> str:
        values = self.query.get(parameter)
        return values[0] if values else ""


class ResponseStream(AsyncIterator[bytes]):
    """A response body that continues until it is closed."""

    def close(self) -> None:
        """The client is gone."""


class ApiResponse(msgspec.Struct):
    """A whole response (`body`), or a stream (a watch; each item is one or more whole frames)."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    #: Texts of `Warning: 299 - "…"` headers.
    warnings: tuple[str, ...] = ()
    headers: Mapping[str, str] = {}
    stream: ResponseStream | None = None

    def close(self) -> None:
        """End the stream, if it is one."""
        if self.stream is not None:
            self.stream.close()
