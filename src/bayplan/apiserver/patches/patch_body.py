"""Decodes bodies of patches; errors are in the words of Go's decoder."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from bayplan.apiserver.api_errors import StatusError, bad_request

#: kube-apiserver's limit: longer patches would block other requests.
MAX_OPERATIONS: Final = 10_000
_OPERATION_FIELDS: Final = ("op", "path", "from", "value")
_GO_TYPES: Final = {dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "bool"}


def decode_object(body: bytes, *, prefix: str = "", null_is_patch: bool = True) -> dict[str, Any]:
    """A body that must be an object. `null` changes nothing, where it is a patch at all."""
    value = _decode(body, prefix)
    if value is None:
        if null_is_patch:
            return {}
        raise bad_request("Invalid JSON Patch")
    if not isinstance(value, dict):
        raise _wrong_type(value, "value of type map[string]interface {}", prefix)
    return value


def decode_operations(body: bytes) -> list[dict[str, Any]]:
    """The operations of a JSON patch."""
    prefix = "error decoding patch: "
    value = _decode(body, prefix)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _wrong_type(value, "value of type []handlers.jsonPatchOp", prefix)
    operations = [{} if operation is None else operation for operation in value]
    for operation in operations:
        _check_operation(operation, prefix)
    if len(operations) > MAX_OPERATIONS:
        most = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {most}")
    return operations


def unknown_in_operations(body: bytes) -> list[str]:
    """`unknown field "[0].foo"` for every field of an operation that JSON patch does not define."""
    return [
        f'unknown field "[{i}].{field}"'
        for i, operation in enumerate(decode_operations(body))
        for field in operation
        if field not in _OPERATION_FIELDS
    ]


def _check_operation(operation: Any, prefix: str) -> None:
    if not isinstance(operation, dict):
        raise _wrong_type(operation, "value of type handlers.jsonPatchOp", prefix)
    for field in ("op", "path", "from"):
        value = operation.get(field)
        if value is not None and not isinstance(value, str):
            raise _wrong_type(value, f"struct field jsonPatchOp.{field} of type string", prefix)


def _decode(body: bytes, prefix: str) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise bad_request(f"{prefix}{error}") from error


def _wrong_type(value: object, wanted: str, prefix: str) -> StatusError:
    return bad_request(f"{prefix}json: cannot unmarshal {_GO_TYPES[type(value)]} into Go {wanted}")
