"""What subresources answer, and what they share."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from bayplan.apiserver.codec import Codec
from bayplan.apiserver.exchange import Response
from bayplan.apiserver.registry import Registry
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.rest.call import Call
from bayplan.apiserver.strategy import Object

#: Decodes objects of a kind, also of those that are never stored.
CodecOf = Callable[[Resource], Codec]
#: Does what a subresource does.
Handler = Callable[[Call], Response]


def success() -> Response:
    """The answer to a creation that makes no object."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return Response(201, msgspec.json.encode(status))


def answer(obj: Object, status: int = 200, warnings: list[str] | None = None) -> Response:
    return Response(status, msgspec.json.encode(obj), warnings=tuple(warnings or ()))


def set_condition(status: Object, condition: Object, now: str) -> None:
    """Put a condition in the place of the one of its type; the time stays unless the status changes."""
    conditions = status.setdefault("conditions", [])
    entry = {"lastProbeTime": None, "lastTransitionTime": now, **condition}
    for i, known in enumerate(conditions):
        if known.get("type") == condition["type"]:
            if known.get("status") == condition["status"]:
                entry["lastTransitionTime"] = known.get("lastTransitionTime")
            conditions[i] = entry
            return
    conditions.append(entry)


class Deps(msgspec.Struct, frozen=True):
    """What the handlers work with."""

    registry: Registry
    codec_of: CodecOf
    #: The time as metadata has it.
    now: Callable[[], str]
