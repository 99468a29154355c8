"""RequestInfo: resource, object and subresource of a request."""

from __future__ import annotations

import msgspec

from bayplan.apiserver.api_errors import bad_request
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.transport.api_messages import ApiRequest


class RequestInfo(msgspec.Struct, frozen=True):
    """`name` is "" for a collection, `namespace` for all namespaces or for cluster-scoped objects."""

    request: ApiRequest
    resource: ApiResource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    #: Whether the path is a deprecated `/watch/` one.
    watch: bool = False
    #: Warnings for the client, whether the request succeeds or not.
    warnings: list[str] = []


def check_name(info: RequestInfo, obj: Object) -> None:
    """Raise an error unless the object's name is that of the path."""
    name = obj["metadata"].get("name", "")
    if not name:
        why = "was undeterminable: name must be provided"
        raise bad_request(f"the name of the object ({info.name} based on URL) {why}")
    if name != info.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({info.name})")
