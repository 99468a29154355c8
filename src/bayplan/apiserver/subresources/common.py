"""Responses and dependencies that the subresource handlers share."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from bayplan.apiserver.codec import Codec
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.resource_registry import ResourceRegistry
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.rest.request_info import RequestInfo
from bayplan.apiserver.transport.api_messages import ApiResponse

#: Decodes objects of a kind, also of kinds that are never stored.
CodecOf = Callable[[ApiResource], Codec]
#: Handles requests to a subresource.
Handler = Callable[[RequestInfo], ApiResponse]


def success() -> ApiResponse:
    """The response to a creation that stores no object."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return ApiResponse(201, msgspec.json.encode(status))


def json_response(obj: Object, status: int = 200, warnings: list[str] | None = None) -> ApiResponse:
    return ApiResponse(status, msgspec.json.encode(obj), warnings=tuple(warnings or ()))


def set_condition(status: Object, condition: Object, now: str) -> None:
    """Replace the condition of the same type; its transition time stays unless the status changes."""
    conditions = status.setdefault("conditions", [])
    entry = {"lastProbeTime": None, "lastTransitionTime": now, **condition}
    for i, known in enumerate(conditions):
        if known.get("type") == condition["type"]:
            if known.get("status") == condition["status"]:
                entry["lastTransitionTime"] = known.get("lastTransitionTime")
            conditions[i] = entry
            return
    conditions.append(entry)


class HandlerDependencies(msgspec.Struct, frozen=True):
    """What the handlers need."""

    registry: ResourceRegistry
    codec_of: CodecOf
    #: The current time as metadata writes it.
    now: Callable[[], str]
