"""Random objects are stored or refused, but never cause an internal error."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.transport.api_messages import ApiRequest

_FILE = Path(__file__).parent / "codec" / "recorded.jsonl.gz"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Clock:
    """A clock that stands still."""

    def now(self) -> float:
        return 1_800_000_000.0

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


def _objects() -> Iterator[dict[str, Any]]:
    with gzip.open(_FILE) as file:
        for line in file:
            yield json.loads(line)["given"]


def _place(resource: ApiResource) -> str:
    namespace = "namespaces/default/" if resource.namespaced else ""
    return f"{resource.prefix}/{namespace}{resource.plural}"


@pytest.fixture(name="server")
def _server() -> ApiServer:
    return ApiServer(Clock())


def _ask(server: ApiServer, method: str, path: str, obj: Any = None, accept: str = "application/json") -> Any:
    body = b"" if obj is None else json.dumps(obj).encode()
    answer = json.loads(server.handle(ApiRequest(method, path, body=body, accept=accept)).body)
    assert answer.get("reason") != "InternalError", (method, path, obj, answer["message"])
    return answer


def test_random_objects_cause_no_internal_error(server: ApiServer) -> None:
    """Each is created, printed, updated and deleted, as far as possible, without an internal error."""
    stored = 0
    for number, given in enumerate(_objects()):
        resource = server.table.of_kind(given["apiVersion"], given["kind"])
        if resource is None:
            continue
        name = f"x{number}"
        obj = {**given, "metadata": {"name": name}}
        created = _ask(server, "POST", _place(resource), obj)
        if created["kind"] == "Status" or "get" not in resource.verbs:
            continue
        stored += 1
        path = f"{_place(resource)}/{name}"
        _ask(server, "GET", path, accept=_TABLE)
        if "status" in resource.subresources and isinstance(given.get("status"), dict):
            _ask(server, "PUT", f"{path}/status", {**created, "status": given["status"]})
            _ask(server, "GET", path, accept=_TABLE)
        _ask(server, "PUT", path, {**created, "metadata": {"name": name, "labels": {"a": "b"}}})
        _ask(server, "DELETE", path)
    assert stored > 100
