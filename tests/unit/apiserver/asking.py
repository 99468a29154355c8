"""Asking an ApiServer without sockets, as short as a test can say it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, unquote

from bayplan.apiserver.exchange import Request, Response
from bayplan.apiserver.server import ApiServer
from bayplan.testing import VirtualClock

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class Asker:
    """A server and its clock; answers come decoded."""

    def __init__(self, **options: Any) -> None:
        self.clock = VirtualClock()
        self.server = ApiServer(self.clock, **options)

    def response(self, method: str, path: str, body: object = None, **fields: Any) -> Response:
        target, _, query = path.partition("?")
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        asked = parse_qs(query, keep_blank_values=True)
        return self.server.handle(Request(method, unquote(target), asked, content, **fields))

    def ask(self, method: str, path: str, body: object = None, **fields: Any) -> tuple[int, Any]:
        """Status and decoded answer."""
        response = self.response(method, path, body, **fields)
        return response.status, json.loads(response.body)

    def create(self, name: str, path: str = CONFIG_MAPS, **metadata: Any) -> dict[str, Any]:
        status, obj = self.ask("POST", path, {"metadata": {"name": name, **metadata}})
        assert status == 201, obj
        return dict(obj)

    def names(self, path: str) -> list[str]:
        status, listed = self.ask("GET", path)
        assert status == 200, listed
        return [each["metadata"]["name"] for each in listed["items"]]

    async def events(self, path: str, **fields: Any) -> list[tuple[str, Any]]:
        """All events of a watch, up to its end; virtual time takes none."""
        response = self.response("GET", path, **fields)
        assert response.stream is not None, response.body
        data = b"".join([piece async for piece in response.stream])
        return [(event["type"], event["object"]) for event in map(json.loads, data.splitlines())]
