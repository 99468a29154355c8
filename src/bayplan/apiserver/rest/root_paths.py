"""Paths outside objects and discovery: health, and the list of paths at the root."""

from __future__ import annotations

from typing import Final

import msgspec

from bayplan.apiserver.registry.api_resources import ResourceTable
from bayplan.apiserver.transport.api_messages import ApiRequest, ApiResponse

_HEALTH: Final = ("livez", "readyz", "healthz")
_CHECKS: Final = ("ping",)
_TEXT: Final = "text/plain; charset=utf-8"
_OTHERS: Final = ("/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version")
#: Paths that need no token.
ANONYMOUS_PATHS: Final = frozenset({*(f"/{name}" for name in _HEALTH), "/version", "/version/"})


def respond(request: ApiRequest, table: ResourceTable) -> ApiResponse | None:
    """The response, or None if the path belongs to another handler."""
    if request.path == "/":
        return ApiResponse(200, msgspec.json.encode({"paths": _paths(table)}))
    name, _, check = request.path.strip("/").partition("/")
    if name not in _HEALTH or (check and check not in _CHECKS):
        return None
    if "verbose" in request.query and not check:
        lines = [f"[+]{each} ok" for each in _CHECKS]
        return ApiResponse(200, "\n".join([*lines, f"{name} check passed", ""]).encode(), _TEXT)
    return ApiResponse(200, b"ok", _TEXT)


def _paths(table: ResourceTable) -> list[str]:
    found = {"/api", "/apis", "/apis/", *_OTHERS}
    for resource in table:
        found.add(resource.prefix)
        if resource.group:
            found.add(f"/apis/{resource.group}")
    return sorted(found)
