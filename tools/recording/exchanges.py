"""Records exchanges with a kube-apiserver: the requests of an earlier recording, and what this release answers."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tests.e2e.api import Api, Object
from tools.recording.live_cluster import LiveCluster

from bayplan.conformance.recorded_answers import RecordedAnswers
from bayplan.conformance.response_normalization import normalised, normalised_events


def record_exchange(cluster: LiveCluster, line: Mapping[str, Any]) -> Object:
    """The line with the answers of this release, normalised."""
    answers = RecordedAnswers()
    steps = [_step(cluster.api, answers, number, step) for number, step in enumerate(line["steps"])]
    return {**line, "steps": steps}


def _step(api: Api, answers: RecordedAnswers, number: int, step: Mapping[str, Any]) -> Object:
    if "sleep" in step:
        time.sleep(step["sleep"])
        return dict(step)
    status, warnings, text = _sent(api, answers, step["request"])
    told: Object = {"request": step["request"], "status": status}
    if step["request"].get("stream") and status == 200:
        told["events"] = normalised_events([json.loads(each) for each in text.splitlines() if each])
    else:
        answer = _decoded(text)
        answers.note(number, answer)
        told["answer"] = normalised(answer)
    if warnings:
        told["warnings"] = list(warnings)
    return told


def _sent(api: Api, answers: RecordedAnswers, request: Mapping[str, Any]) -> tuple[int, Sequence[str], str]:
    """Status, warnings and body."""
    filled = answers.filled(request.get("body"))
    body = request["raw"] if "raw" in request else "" if filled is None else json.dumps(filled)
    return api.exchange(
        request["method"],
        str(answers.filled(request["path"])),
        body.encode(),
        content_type=request.get("content_type", "application/json"),
        accept=request.get("accept", "application/json"),
    )


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
