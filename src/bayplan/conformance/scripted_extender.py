"""A scripted extender: responds on a loopback port as a recorded extender did, and records the requests.

Further requests get similar responses: nodes that failed before fail again, and preemption candidates that were
kept before are kept.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

#: The prefix of a body that is sent verbatim.
_RAW: Final = "RAW"
#: In place of a response that did not come.
HANG: Final = "hang"
#: How long an extender that does not respond delays.
SILENCE_SECONDS: Final = 1.0


class ScriptedExtender:
    """An async context manager; within it `url` is where it listens."""

    def __init__(self, recorded: Sequence[Mapping[str, Any]]) -> None:
        self._recorded = recorded
        self._n_requests: Counter[str] = Counter()
        self._server: web.ServerRunner | None = None
        self.url = ""
        #: The requests received, in the form of the recording.
        self.requests: list[dict[str, Any]] = []
        #: When each was received, in seconds since the epoch.
        self.received_at: list[float] = []

    async def __aenter__(self) -> ScriptedExtender:
        self._server = web.ServerRunner(web.Server(self._handle))
        await self._server.setup()
        site = web.TCPSite(self._server, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._server.addresses[0][1]}"
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._server is not None:
            await self._server.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.received_at.append(time.time())
        self.requests.append(
            {
                "method": request.method,
                "path": request.path,
                "content_type": request.content_type,
                "accept": request.headers.get("Accept"),
                "body": body,
            }
        )
        script = self._response(request.path, body)
        self.requests[-1]["response"] = HANG if script is None else script
        if script is None:
            await asyncio.sleep(SILENCE_SECONDS)
            return web.Response()
        content = script["body"]
        is_raw = isinstance(content, str) and content.startswith(_RAW)
        text = content.removeprefix(_RAW) if is_raw else json.dumps(content)
        return web.Response(status=script["status"], text=text, content_type="application/json")

    def _response(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The recorded response to this request; None for no response."""
        script = [each.get("response") for each in self._recorded if each["path"] == path]
        number = self._n_requests[path]
        self._n_requests[path] += 1
        responses = [each if isinstance(each, dict) else None for each in script]
        if number < len(responses):
            return responses[number]
        last = responses[-1] if responses else None
        return {"status": 200, "body": _similar_response(body, last["body"] if last is not None else {})}


def _similar_response(request: Mapping[str, Any], response: Any) -> Any:
    if "NodeNameToVictims" in request:
        return {"NodeNameToMetaVictims": _kept_candidates(request, response)}
    failed: Mapping[str, str] = response.get("FailedNodes") or {} if isinstance(response, dict) else {}
    if request.get("NodeNames") is not None:
        left = [name for name in request["NodeNames"] if name not in failed]
        return {"NodeNames": left, "FailedNodes": {name: failed[name] for name in failed if name not in left}}
    nodes = [node for node in request["Nodes"]["items"] if node["metadata"]["name"] not in failed]
    names = {node["metadata"]["name"] for node in request["Nodes"]["items"]}
    return {"Nodes": {"items": nodes}, "FailedNodes": {name: why for name, why in failed.items() if name in names}}


def _kept_candidates(request: Mapping[str, Any], response: Any) -> Mapping[str, Any]:
    kept = response.get("NodeNameToMetaVictims") or {} if isinstance(response, dict) else {}
    victims = request["NodeNameToVictims"]
    if victims is None:
        return {name: each for name, each in request["NodeNameToMetaVictims"].items() if name in kept}
    return {
        name: {"Pods": [{"UID": pod["metadata"]["uid"]} for pod in each["Pods"]], "NumPDBViolations": 0}
        for name, each in victims.items()
        if name in kept
    }
