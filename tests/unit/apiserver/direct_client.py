"""A client that calls an ApiServer without sockets, for short tests."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, unquote

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.transport.api_messages import ApiRequest, ApiResponse
from bayplan.testing import VirtualClock

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class DirectClient:
    """A server with its clock. Responses are decoded."""

    def __init__(self, **options: Any) -> None:
        self.clock = VirtualClock()
        self.server = ApiServer(self.clock, **options)

    def response(self, method: str, path: str, body: object = None, **fields: Any) -> ApiResponse:
        target, _, query = path.partition("?")
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        parameters = parse_qs(query, keep_blank_values=True)
        return self.server.handle(ApiRequest(method, unquote(target), parameters, content, **fields))

    def request(self, method: str, path: str, body: object = None, **fields: Any) -> tuple[int, Any]:
        """The HTTP status and the decoded body."""
        response = self.response(method, path, body, **fields)
        return response.status, json.loads(response.body)

    def create(self, name: str, path: str = CONFIG_MAPS, **metadata: Any) -> dict[str, Any]:
        status, obj = self.request("POST", path, {"metadata": {"name": name, **metadata}})
        assert status == 201, obj
        return dict(obj)

    def names(self, path: str) -> list[str]:
        status, listed = self.request("GET", path)
        assert status == 200, listed
        return [each["metadata"]["name"] for each in listed["items"]]

    async def events(self, path: str, **fields: Any) -> list[tuple[str, Any]]:
        """All events of a watch, up to its end; virtual time takes none."""
        response = self.response("GET", path, **fields)
        assert response.stream is not None, response.body
        data = b"".join([piece async for piece in response.stream])
        return [(event["type"], event["object"]) for event in map(json.loads, data.splitlines())]
