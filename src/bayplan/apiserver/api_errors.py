"""Errors as clients see them: `metav1.Status` with its code, reason and details."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec


class StatusCause(msgspec.Struct, frozen=True):
    """One validation error: field, type and message."""

    field: str
    #: FieldValueRequired, FieldValueInvalid, FieldValueNotSupported, FieldValueForbidden, FieldValueDuplicate, …
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class StatusError(Exception):
    """A failed request; `body` is the Status to send, `code` its HTTP status."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after_seconds = retry_after_seconds
        #: For a list whose continue token has expired: a token that continues with the current state.
        self.list_continue = ""

    @property
    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.list_continue} if self.list_continue else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def _about(group: str, kind: str, name: str) -> dict[str, Any]:
    details = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in details.items() if value}


def _qualified(group: str, resource: str) -> str:
    return f"{resource}.{group}" if group else resource


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def not_found(group: str, resource: str, name: str) -> StatusError:
    message = f'{_qualified(group, resource)} "{name}" not found'
    return StatusError(404, "NotFound", message, details=_about(group, resource, name))


def already_exists(group: str, resource: str, name: str) -> StatusError:
    message = f'{_qualified(group, resource)} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, details=_about(group, resource, name))


def conflict(group: str, resource: str, name: str, why: str) -> StatusError:
    message = f'Operation cannot be fulfilled on {_qualified(group, resource)} "{name}": {why}'
    return StatusError(409, "Conflict", message, details=_about(group, resource, name))


def precondition_failed(what: str, wanted: str, known: str) -> str:
    """The message of a conflict over a UID or ResourceVersion."""
    return f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {known}"


def not_stored(etcd_key: str, why: str) -> str:
    """The same message as kube-apiserver's storage words it."""
    return f"StorageError: invalid object, Code: 4, Key: {etcd_key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"


def forbidden(group: str, resource: str, name: str, why: str) -> StatusError:
    subject = f'{_qualified(group, resource)} "{name}"' if name else _qualified(group, resource)
    return StatusError(403, "Forbidden", f"{subject} is forbidden: {why}", details=_about(group, resource, name))


def invalid(group: str, kind: str, name: str, causes: Sequence[StatusCause]) -> StatusError:
    found = [str(cause) for cause in causes]
    text = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
    details = _about(group, kind, name)
    details["causes"] = [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes]
    return StatusError(422, "Invalid", f'{_qualified(group, kind)} "{name}" is invalid: {text}', details=details)
