"""The errors of requests: the server refused one (`ApiError`), or there was no answer (`TransportError`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

#: The longest Retry-After that we obey: a scheduler that sleeps for an hour is a scheduler that is down.
MAX_RETRY_AFTER_SECONDS = 60.0
_SNIPPET_BYTES = 300


class ClientError(Exception):
    """A request that failed."""


class AccessError(ClientError):
    """The kubeconfig, a certificate or a credential cannot be used."""


class NotLeadingError(ClientError):
    """The lease expired before the request was sent; it was not sent."""


class TransportError(ClientError):
    """No answer: the connection failed, was cut, or took too long."""

    def __init__(self, message: str, *, sent: bool, reused: bool = False) -> None:
        super().__init__(message)
        #: Whether the server may have received and executed the request.
        self.sent = sent
        #: Whether it failed on a reused connection before any answer: most likely the server had closed it.
        self.reused = reused


class ApiError(ClientError):
    """A response that is not a success; its text is the server's message."""

    def __init__(
        self,
        status: int,
        *,
        reason: str = "",
        message: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message or f"the server answered {status} {_phrase(status)}".rstrip())
        self.status = status
        self.reason = reason
        self.message = message
        self.details: Mapping[str, Any] = details or {}
        #: How many seconds the server asks us to wait before we send the request again.
        self.retry_after = retry_after


class NotFoundError(ApiError):
    """404: the object does not exist, or the server has no such resource."""


class ConflictError(ApiError):
    """409: the object exists already, has changed, or is another one of the same name."""

    @property
    def already_exists(self) -> bool:
        return self.reason == "AlreadyExists"


class ResourceExpiredError(ApiError):
    """410, or a resourceVersion that the server does not have yet: list again."""


_BY_STATUS: dict[int, type[ApiError]] = {404: NotFoundError, 409: ConflictError, 410: ResourceExpiredError}


class _StatusBody(msgspec.Struct):
    """The fields of metav1.Status that we read."""

    reason: str = ""
    message: str = ""
    details: dict[str, Any] | None = None


def api_error(status: int, body: bytes, headers: Iterable[tuple[bytes, bytes]] = ()) -> ApiError:
    """The error for a response with *status*; *body* is a metav1.Status, or any text from a proxy."""
    try:
        status_body = msgspec.json.decode(body, type=_StatusBody)
    except msgspec.DecodeError:
        text = body[:_SNIPPET_BYTES].decode(errors="replace").strip()
        message = f"the server answered {status} {_phrase(status)}: {text}" if text else ""
        status_body = _StatusBody(message=message)
    retry_after = _header_seconds(headers)
    if retry_after is None and status_body.details:
        retry_after = _seconds(status_body.details.get("retryAfterSeconds"))
    error_type = ResourceExpiredError if _is_version_too_large(status_body) else _BY_STATUS.get(status, ApiError)
    return error_type(
        status,
        reason=status_body.reason,
        message=status_body.message,
        details=status_body.details,
        retry_after=retry_after,
    )


def _is_version_too_large(status_body: _StatusBody) -> bool:
    """A resourceVersion from the future: the server was restored from a backup, or its cache lags behind."""
    causes = (status_body.details or {}).get("causes") or ()
    return any(isinstance(each, dict) and each.get("reason") == "ResourceVersionTooLarge" for each in causes) or (
        "Too large resource version" in status_body.message
    )


def _header_seconds(headers: Iterable[tuple[bytes, bytes]]) -> float | None:
    for name, value in headers:
        if name.lower() == b"retry-after":
            return _seconds(value.decode("latin-1"))
    return None


def _seconds(value: object) -> float | None:
    """API servers send seconds; the other form of Retry-After, a date, is ignored."""
    try:
        seconds = float(str(value))
    except ValueError:
        return None
    return min(seconds, MAX_RETRY_AFTER_SECONDS) if seconds >= 0 else None


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
