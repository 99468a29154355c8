"""Patches as pure functions: from the current object and the body of a patch to the new object.

Server-side apply depends on field ownership and has its own package (`apply`).
"""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.patches import json_patch, merge_patch, strategic
from bayplan.apiserver.patches.patch_body import decode_object, decode_operations, unknown_in_operations
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.schema.schema_node import SchemaNode

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

#: In the order in which a 415 lists them.
BUILT_IN_FORMATS: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
#: Strategic merge patch needs Go types, which custom resources do not have.
CUSTOM_FORMATS: Final = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


def patched(content_type: str, current: Object, body: bytes, schema: SchemaNode) -> Object:
    """The object after the patch, to be decoded and defaulted as if a client had sent it; consumes `current`."""
    match content_type:
        case "application/json-patch+json":
            return json_patch.apply(current, decode_operations(body))
        case "application/merge-patch+json":
            return merge_patch.apply(
                current, decode_object(body, prefix="error decoding patch: ", null_is_patch=False)
            )
        case "application/strategic-merge-patch+json":
            return strategic.apply(current, decode_object(body), schema)
    raise unsupported(BUILT_IN_FORMATS)


def unsupported(formats: tuple[str, ...]) -> StatusError:
    """The error for a patch format that the resource does not support."""
    if formats == BUILT_IN_FORMATS:
        return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    message = (
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(formats)}"
    )
    return StatusError(415, "UnsupportedMediaType", message)


__all__ = [
    "APPLY_PATCH",
    "BUILT_IN_FORMATS",
    "CUSTOM_FORMATS",
    "JSON_PATCH",
    "MERGE_PATCH",
    "STRATEGIC_MERGE_PATCH",
    "patched",
    "unknown_in_operations",
    "unsupported",
]
