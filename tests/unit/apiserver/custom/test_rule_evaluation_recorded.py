"""Rules in CEL (`x-kubernetes-validations`): what kube-apiserver v1.36.4 answered to the same requests."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.transport.api_messages import ApiRequest
from bayplan.testing import VirtualClock

_RECORDED: dict[str, Any] = json.loads(
    gzip.decompress(Path(__file__).with_name("recorded_rules.json.gz").read_bytes())
)
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WIDS = "/apis/ex.com/v1/namespaces/default/wids"

Json = dict[str, Any]


class Server:
    """A server in this process, asked as the real one was."""

    def __init__(self) -> None:
        self._server = ApiServer(VirtualClock())

    def ask(self, method: str, path: str, body: Json | None = None) -> tuple[int, Json]:
        text = b"" if body is None else json.dumps(body).encode()
        response = self._server.handle(ApiRequest(method, path, body=text))
        return response.status, json.loads(response.body)

    def define(self, schema: Json, *, has_status: bool = False) -> tuple[int, Json]:
        """Create the definition, or give it another schema."""
        parts: Json = {"subresources": {"status": {}}} if has_status else {}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **parts}
        names = {"plural": "wids", "kind": "Wid"}
        spec = {"group": "ex.com", "scope": "Namespaced", "names": names, "versions": [version]}
        status, now = self.ask("GET", f"{_DEFINITIONS}/wids.ex.com")
        if status == 200:
            return self.ask("PUT", f"{_DEFINITIONS}/wids.ex.com", {**now, "spec": spec})
        return self.ask("POST", _DEFINITIONS, {"metadata": {"name": "wids.ex.com"}, "spec": spec})

    def write(self, name: str, value: Json | None, part: str) -> tuple[int, Json]:
        """Create the object, or update it, or a part of it."""
        status, now = self.ask("GET", f"{_WIDS}/{name}")
        body: Json = {"apiVersion": "ex.com/v1", "kind": "Wid", "metadata": {"name": name}}
        if part:
            body["spec"] = now["spec"]
        if value is not None:
            body[part or "spec"] = value
        if status != 200:
            return self.ask("POST", _WIDS, body)
        body["metadata"]["resourceVersion"] = now["metadata"]["resourceVersion"]
        return self.ask("PUT", f"{_WIDS}/{name}" + (f"/{part}" if part else ""), body)


def _findings(causes: list[Json]) -> list[tuple[str, str, str]]:
    return sorted((cause["field"], cause["reason"], cause["message"]) for cause in causes)


def _causes(answer: Json) -> list[Json]:
    found: list[Json] = answer.get("details", {}).get("causes", []) if answer["kind"] == "Status" else []
    return found


@pytest.mark.parametrize("case", _RECORDED["definitions"], ids=lambda case: case["case"])
def test_rules_of_definitions(case: Json) -> None:
    """Expressions that do not compile, cost too much or make no sense are refused with the same words."""
    status, answer = Server().define(case["schema"])

    assert _findings(_causes(answer)) == _findings(case["causes"])
    assert status == case["status"]


@pytest.mark.parametrize("group", _RECORDED["groups"], ids=range(len(_RECORDED["groups"])))
def test_rules_about_objects(group: Json) -> None:
    """The same writes are refused, with the same words: new objects, changes, and parts that did not change."""
    server, different = Server(), []
    for part in group["parts"]:
        status, answer = server.define(part["schema"], has_status=group["status"])
        assert status < 300, answer
        for write in part["writes"]:
            status, answer = server.write(write["name"], write["value"], write["part"])
            ours, theirs = _findings(_causes(answer)), _findings(write["causes"])
            if (status, ours) != (write["status"], theirs):
                different.append((write["name"], write["value"], status, ours, write["status"], theirs))

    assert different == []
