"""Verifies recorded exchanges with a kube-apiserver: the same requests, replayed on the embedded server.

Every exchange starts on an empty server, in the same process and with a virtual clock. Both responses are
normalised before they are compared (`response_normalization`). A failure needs the same code, reason, subject and
set of fields, and the same message unless that is a list of errors or comes from a Go library.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any, TypeGuard
from urllib.parse import parse_qs

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.transport.api_messages import ApiRequest, ApiResponse, UserInfo
from bayplan.conformance import Context
from bayplan.conformance.recorded_answers import RecordedAnswers
from bayplan.conformance.report import ABSENT, Difference, compare
from bayplan.conformance.response_normalization import normalised, normalised_events, normalised_text
from bayplan.release import Release

#: 15 November 2026, when the recordings were made.
RECORDED_AT = 1_794_700_000.0
#: Who the recorded requests came from.
RECORDED_USER = UserInfo("admin", ("system:masters", "system:authenticated"), uid="admin")
#: Admission plugins that were off when the exchanges were recorded.
SWITCHED_OFF = ("ServiceAccount", "TaintNodesByCondition", "StorageObjectInUseProtection", "PodTopologyLabels")

#: Messages that quote Go's decoders, parsers or the storage; their wording is not compared.
_QUOTED = re.compile(
    r"json: |json parse error|invalid character|yaml: |strconv\.|StorageError|converting \("
    r"|parsing time|illegal base64"
)


def verify(line: dict[str, Any], context: Context) -> Iterator[tuple[str, list[Difference]]]:
    """Each request is a step."""
    exchange = _Exchange(context.catalogue.release)
    for number, step in enumerate(line["steps"]):
        if "sleep" in step:
            exchange.sleep(step["sleep"])
        else:
            request = step["request"]
            yield f"{number} {request['method']} {request['path']}", exchange.compared(number, step)


class _JumpingClock:
    """Implements `framework.Clock`; sleeping advances it immediately."""

    def __init__(self, start: float) -> None:
        self.time = start

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds


class _Exchange:
    """A separate server, and its responses so far."""

    def __init__(self, release: Release) -> None:
        self._clock = _JumpingClock(RECORDED_AT)
        self._server = ApiServer(self._clock, disabled_admission=SWITCHED_OFF, release=release)
        self._answers = RecordedAnswers()

    def sleep(self, seconds: float) -> None:
        self._clock.time += seconds

    def compared(self, number: int, step: dict[str, Any]) -> list[Difference]:
        response = self._server.handle(self._request(step["request"]))
        if response.stream is not None:
            ours = {"status": response.status, "events": normalised_events(self._drained(response))}
        else:
            answer = _decoded(response)
            self._answers.note(number, answer)
            ours = {"status": response.status, "answer": normalised(answer)}
        if response.warnings:
            ours["warnings"] = [_warning(text) for text in response.warnings]
        return list(_compared(step, ours))

    def _request(self, recorded: dict[str, Any]) -> ApiRequest:
        path, _, query = str(self._answers.filled(recorded["path"])).partition("?")
        body = recorded["raw"] if "raw" in recorded else _text(self._answers.filled(recorded.get("body")))
        return ApiRequest(
            method=recorded["method"],
            path=path,
            query=parse_qs(query, keep_blank_values=True),
            body=str(body).encode(),
            content_type=recorded.get("content_type", "application/json"),
            accept=recorded.get("accept", "application/json"),
            user=RECORDED_USER,
        )

    def _drained(self, response: ApiResponse) -> list[Any]:
        return asyncio.run(_events(response))


async def _events(response: ApiResponse) -> list[Any]:
    frames = [frame async for frame in response.stream] if response.stream is not None else []
    text = b"".join(frames).decode()
    return [json.loads(line) for line in text.splitlines() if line]


def _compared(recorded: dict[str, Any], ours: dict[str, Any]) -> Iterator[Difference]:
    yield from compare(recorded["status"], ours["status"], "status")
    yield from compare(recorded.get("warnings", []), ours.get("warnings", []), "warnings")
    if "events" in recorded:
        yield from compare(recorded["events"], ours.get("events", ABSENT), "events")
        return
    theirs, mine = normalised(recorded.get("answer")), ours.get("answer")
    if _is_failure(theirs) and _is_failure(mine):
        yield from _compared_failures(theirs, mine)
    else:
        yield from compare(theirs, mine, "answer")


def _is_failure(answer: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(answer, dict) and answer.get("kind") == "Status" and answer.get("status") == "Failure"


def _compared_failures(recorded: dict[str, Any], ours: dict[str, Any]) -> Iterator[Difference]:
    yield from compare(_essence(recorded), _essence(ours), "answer")
    message = str(recorded.get("message"))
    if recorded.get("code") != 422 and not _QUOTED.search(message):
        yield from compare(normalised_text(message), normalised_text(str(ours.get("message"))), "answer.message")


def _essence(failure: dict[str, Any]) -> dict[str, Any]:
    details = failure.get("details") or {}
    return {
        "reason": failure.get("reason"),
        "details": {"kind": details.get("kind"), "name": details.get("name")},
        "fields": sorted({cause.get("field", "") for cause in details.get("causes", ())}),
    }


def _decoded(response: ApiResponse) -> Any:
    text = response.body.decode()
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _text(body: Any) -> str:
    return "" if body is None else json.dumps(body)


def _warning(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
