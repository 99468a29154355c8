"""What can go wrong between us and the API server: it said no, or it said nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

#: Never believed beyond this: a scheduler that sleeps for an hour is a scheduler that is down.
MAX_RETRY_AFTER_SECONDS = 60.0
_SNIPPET_BYTES = 300


class ClientError(Exception):
    """A request without the answer that was hoped for."""


class AccessError(ClientError):
    """The kubeconfig, a certificate or a credential cannot be used."""


class NotLeadingError(ClientError):
    """The lease ran out before the request was written; it was not sent."""


class TransportError(ClientError):
    """No answer: the connection failed, was cut, or took too long."""

    def __init__(self, message: str, *, sent: bool, reused: bool = False) -> None:
        super().__init__(message)
        #: Whether the server may have got the request, and may have done what it says.
        self.sent = sent
        #: Whether it was on a kept connection and no byte of an answer came: most likely the server had closed it.
        self.reused = reused


class ApiError(ClientError):
    """An answer that is not a success. Its text is the server's own message."""

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
        #: Seconds that the server asks us to wait before the same request again.
        self.retry_after = retry_after


class NotFoundError(ApiError):
    """404: the object is not there, or the server does not serve such objects."""


class ConflictError(ApiError):
    """409: the object exists already, has changed meanwhile, or is another one of the same name."""

    @property
    def already_exists(self) -> bool:
        return self.reason == "AlreadyExists"


class ExpiredError(ApiError):
    """410, or a resourceVersion that the server does not know yet: list again."""


_BY_STATUS: dict[int, type[ApiError]] = {404: NotFoundError, 409: ConflictError, 410: ExpiredError}


class _Status(msgspec.Struct):
    """The fields of metav1.Status that we read."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: dict[str, Any] | None = None


def api_error(status: int, body: bytes, headers: Iterable[tuple[bytes, bytes]] = ()) -> ApiError:
    """The error for an answer with *status*; *body* is a metav1.Status, or whatever a proxy wrote."""
    try:
        answer = msgspec.json.decode(body, type=_Status)
    except msgspec.DecodeError:
        text = body[:_SNIPPET_BYTES].decode(errors="replace").strip()
        answer = _Status(message=f"the server answered {status} {_phrase(status)}: {text}" if text else "")
    retry_after = _header_seconds(headers)
    if retry_after is None and answer.details:
        retry_after = _seconds(answer.details.get("retryAfterSeconds"))
    kind = ExpiredError if _is_too_large(answer) else _BY_STATUS.get(status, ApiError)
    return kind(
        status, reason=answer.reason, message=answer.message, details=answer.details, retry_after=retry_after
    )


def _is_too_large(answer: _Status) -> bool:
    """A resourceVersion from the future: the server was restored from a backup, or its cache lags behind."""
    causes = (answer.details or {}).get("causes") or ()
    return any(isinstance(each, dict) and each.get("reason") == "ResourceVersionTooLarge" for each in causes) or (
        "Too large resource version" in answer.message
    )


def _header_seconds(headers: Iterable[tuple[bytes, bytes]]) -> float | None:
    for name, value in headers:
        if name.lower() == b"retry-after":
            return _seconds(value.decode("latin-1"))
    return None


def _seconds(value: object) -> float | None:
    """Whole seconds; the other form of Retry-After, a date, is not used by API servers."""
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
