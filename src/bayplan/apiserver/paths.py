"""What is neither an object nor discovery: health, and the list of paths at the root."""

from __future__ import annotations

from typing import Final

import msgspec

from bayplan.apiserver.exchange import Request, Response
from bayplan.apiserver.resources import ResourceTable

_HEALTH: Final = ("livez", "readyz", "healthz")
_CHECKS: Final = ("ping",)
_TEXT: Final = "text/plain; charset=utf-8"
_OTHERS: Final = ("/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version")
#: What anybody may ask without a token.
ANONYMOUS_PATHS: Final = frozenset({*(f"/{name}" for name in _HEALTH), "/version", "/version/"})


def respond(request: Request, table: ResourceTable) -> Response | None:
    """The answer, or None if the path is somebody else's."""
    if request.path == "/":
        return Response(200, msgspec.json.encode({"paths": _paths(table)}))
    name, _, check = request.path.strip("/").partition("/")
    if name not in _HEALTH or (check and check not in _CHECKS):
        return None
    if "verbose" in request.query and not check:
        lines = [f"[+]{each} ok" for each in _CHECKS]
        return Response(200, "\n".join([*lines, f"{name} check passed", ""]).encode(), _TEXT)
    return Response(200, b"ok", _TEXT)


def _paths(table: ResourceTable) -> list[str]:
    found = {"/api", "/apis", "/apis/", *_OTHERS}
    for resource in table:
        found.add(resource.prefix)
        if resource.group:
            found.add(f"/apis/{resource.group}")
    return sorted(found)
