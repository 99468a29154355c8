"""JSON patch (RFC 6902) as kube-apiserver applies it; comments mark the differences from the RFC.

Implemented here because libraries follow the RFC, and clients of Kubernetes rely on the differences.
"""

from __future__ import annotations

import copy
import re
from typing import Any, Final

from bayplan.apiserver.api_errors import StatusCause, StatusError, invalid
from bayplan.apiserver.registry.rest_strategy import Object

_INDEX: Final = re.compile(r"[+-]?[0-9]+")


class _RefusedError(Exception):
    """An operation that does not apply. It has no message, as in kube-apiserver."""


def apply(current: Object, operations: list[dict[str, Any]]) -> Object:
    """`current` after all operations; if one does not apply, none does."""
    document: Any = current
    try:
        for operation in operations:
            document = _applied(document, operation)
    except _RefusedError as error:
        message = "the server rejected our request due to an error in our request"
        raise StatusError(422, "Invalid", message, details={}) from error
    if not isinstance(document, dict):
        raise invalid(
            "", "", "", [StatusCause("patch", "FieldValueInvalid", "Invalid value: it leaves no object")]
        )
    return document


def _applied(document: Any, operation: dict[str, Any]) -> Any:
    path = operation.get("path")
    match operation.get("op"):
        case "add":
            _add(document, path, operation.get("value"))
        case "remove":
            _remove(document, path)
        case "replace":
            return _replaced(document, path, operation.get("value"))
        case "move":
            source = operation.get("from")
            value = _get(document, source)
            _remove(document, source)
            _add(document, path, value)
        case "copy":
            _add(document, path, copy.deepcopy(_get(document, operation.get("from"))))
        case "test":
            _test(document, path, operation.get("value"))
        case _:
            raise _RefusedError
    return document


def _add(document: Any, path: str | None, value: Any) -> None:
    container, key = _find(document, path)
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_position(key, len(container) + 1), value)


def _remove(document: Any, path: str | None) -> None:
    container, key = _find(document, path)
    if isinstance(container, list):
        del container[_position(key, len(container))]
    elif key in container:
        del container[key]
    else:
        raise _RefusedError


def _replaced(document: Any, path: str | None, value: Any) -> Any:
    if path == "":
        if not isinstance(value, dict | list):
            raise _RefusedError
        return value
    container, key = _find(document, path)
    if isinstance(container, list):
        container[_position(key, len(container))] = value
    else:
        container[key] = value  # unlike the RFC, whether or not it existed
    return document


def _test(document: Any, path: str | None, value: Any) -> None:
    # Unlike the RFC, a missing value equals null.
    found = document if path == "" else _get(document, path)
    if not _same(found, value):
        raise _RefusedError


def _get(document: Any, path: str | None) -> Any:
    container, key = _find(document, path)
    if isinstance(container, dict):
        return container.get(key)
    return container[_position(key, len(container))]


def _find(document: Any, path: str | None) -> tuple[Any, str]:
    """The object or list that the last step of the path leads into, and that step."""
    if path is None or "/" not in path:
        raise _RefusedError
    *steps, last = (step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:])
    for step in steps:
        if isinstance(document, dict):
            document = document.get(step)
        elif isinstance(document, list):
            document = document[_position(step, len(document))]
    if not isinstance(document, dict | list):
        raise _RefusedError
    return document, last


def _position(key: str, length: int) -> int:
    """An index below `length`. Unlike the RFC, negative ones count from the end."""
    if not _INDEX.fullmatch(key):
        raise _RefusedError
    index = int(key)
    if not -length <= index < length:
        raise _RefusedError
    return index % length


def _same(left: Any, right: Any) -> bool:
    """Equality of JSON text: 1 is neither 1.0 nor true."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)
