"""A request that was understood: which resource, which object, which part of it."""

from __future__ import annotations

import msgspec

from bayplan.apiserver.exchange import Request
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.status import bad_request
from bayplan.apiserver.strategy import Object


class Call(msgspec.Struct, frozen=True):
    """`name` is "" for a collection, `namespace` for all of them or for what has none."""

    request: Request
    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    #: Whether the path is one of the old `/watch/` ones.
    watch: bool = False
    #: Texts for the client, whether the request succeeds or not.
    warnings: list[str] = []


def check_name(call: Call, obj: Object) -> None:
    """The name of an object is that of its path."""
    name = obj["metadata"].get("name", "")
    if not name:
        why = "was undeterminable: name must be provided"
        raise bad_request(f"the name of the object ({call.name} based on URL) {why}")
    if name != call.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.name})")
