"""A scripted extender: answers on a loopback port as a recorded one did, and keeps what it was asked.

Requests beyond the recorded ones are answered in the same vein: the nodes that were failed before fail again, and
candidates that were kept before are kept.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

#: The mark of a body that is sent as it stands.
_RAW: Final = "RAW"
#: How long a silent extender stays silent.
SILENCE_SECONDS: Final = 1.0


class ScriptedExtender:
    """An async context manager; within it `url` is where it listens."""

    def __init__(self, recorded: Sequence[Mapping[str, Any]]) -> None:
        self._recorded = recorded
        self._n_asked: Counter[str] = Counter()
        self._server: web.ServerRunner | None = None
        self.url = ""
        #: What came in, in the form of the recording.
        self.requests: list[dict[str, Any]] = []

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
        self.requests.append(
            {
                "method": request.method,
                "path": request.path,
                "content_type": request.content_type,
                "accept": request.headers.get("Accept"),
                "body": body,
            }
        )
        script = self._answer(request.path, body)
        if script is None:
            await asyncio.sleep(SILENCE_SECONDS)
            return web.Response()
        answer = script["body"]
        is_raw = isinstance(answer, str) and answer.startswith(_RAW)
        text = answer.removeprefix(_RAW) if is_raw else json.dumps(answer)
        return web.Response(status=script["status"], text=text, content_type="application/json")

    def _answer(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The recorded answer to this request; None for silence."""
        script = [each.get("response") for each in self._recorded if each["path"] == path]
        number = self._n_asked[path]
        self._n_asked[path] += 1
        answers = [each if isinstance(each, dict) else None for each in script]
        if number < len(answers):
            return answers[number]
        last = answers[-1] if answers else None
        return {"status": 200, "body": _in_the_same_vein(body, last["body"] if last is not None else {})}


def _in_the_same_vein(asked: Mapping[str, Any], answered: Any) -> Any:
    if "NodeNameToVictims" in asked:
        return {"NodeNameToMetaVictims": _kept_candidates(asked, answered)}
    failed: Mapping[str, str] = answered.get("FailedNodes") or {} if isinstance(answered, dict) else {}
    if asked.get("NodeNames") is not None:
        left = [name for name in asked["NodeNames"] if name not in failed]
        return {"NodeNames": left, "FailedNodes": {name: failed[name] for name in failed if name not in left}}
    nodes = [node for node in asked["Nodes"]["items"] if node["metadata"]["name"] not in failed]
    names = {node["metadata"]["name"] for node in asked["Nodes"]["items"]}
    return {"Nodes": {"items": nodes}, "FailedNodes": {name: why for name, why in failed.items() if name in names}}


def _kept_candidates(asked: Mapping[str, Any], answered: Any) -> Mapping[str, Any]:
    kept = answered.get("NodeNameToMetaVictims") or {} if isinstance(answered, dict) else {}
    victims = asked["NodeNameToVictims"]
    if victims is None:
        return {name: each for name, each in asked["NodeNameToMetaVictims"].items() if name in kept}
    return {
        name: {"Pods": [{"UID": pod["metadata"]["uid"]} for pod in each["Pods"]], "NumPDBViolations": 0}
        for name, each in victims.items()
        if name in kept
    }
