"""Recorded lines in a form that can be compared between two recordings: without what differs from run to run.

uids, versions and times become words, names that the API server made up end in SUFFIX, and what a scheduler
chooses by chance (a node among equals, the order of nodes in a request) is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.conformance.recorded_claims import compared
from bayplan.conformance.response_normalization import normalised
from bayplan.model import ResourceClaim

Line = Mapping[str, Any]
#: Metric → labels whose values are not recorded: they tell of the cluster or of the gates, or are left to chance.
FREE_LABELS: Mapping[str, Sequence[str]] = {
    "kubernetes_feature_enabled": ("name",),
    "rest_client_request_duration_seconds": ("host", "verb"),
    "rest_client_requests_total": ("code", "host", "method"),
    "workqueue_depth": ("name",),
    # One pod in ten, by chance.
    "scheduler_plugin_execution_duration_seconds": ("extension_point", "plugin", "status"),
}
_GENERATED = re.compile(r'"generateName": "([^"]*)", .*?"name": "(\1[a-z0-9]+)"')
#: In the texts of the surface: which of the equal nodes and pods of its story.
_BY_CHANCE = re.compile(r"\bm\d\b|\bdefault/a\d+\b")
_AGE = re.compile(r'"(?:\d+[smhdy]){1,2}"')


def comparable(line: Line) -> dict[str, Any]:
    """Key → result; what went in is not among it."""
    return _KINDS[line["kind"]](line)


# --- steps ------------------------------------------------------------------------------------------------


def comparable_steps(line: Line) -> list[dict[str, Any]]:
    """Of decisions and claims; the pods themselves are left out."""
    return [_step(step) for step in _steady(line["steps"])]


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    told = {key: value for key, value in step.items() if key not in ("pod", "messages_before", "start_time")}
    if "claims_after" in told:
        told["claims_after"] = dict(compared(ResourceClaim.from_dict(each) for each in told["claims_after"]))
    if "resourceClaimStatuses" in told:
        told["resourceClaimStatuses"] = sorted(told["resourceClaimStatuses"], key=lambda each: str(each["name"]))
    if "preemption" in told:
        told["preemption"] = {**told["preemption"], "victims": sorted(told["preemption"]["victims"])}
    return told


def same_way(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether the next step of both starts from the same cluster."""
    return before.get("node") == after.get("node") and _nominated(before) == _nominated(after)


def _nominated(step: Mapping[str, Any]) -> Any:
    preemption = step.get("preemption", {})
    return preemption.get("nominated"), preemption.get("victims")


def is_tie(step: Mapping[str, Any], node: str | None) -> bool:
    """Whether the step could as well have ended on this node."""
    scores = step.get("scores") or {}
    if node not in scores or step.get("node") not in scores:
        return False
    best = max(each["total"] for each in scores.values())
    return bool(scores[node]["total"] == best)


# --- kinds ------------------------------------------------------------------------------------------------


def _config(line: Line) -> dict[str, Any]:
    told = {key: line[key] for key in ("effective", "expanded", "errors") if key in line}
    if isinstance(told.get("effective"), dict):
        told["effective"] = {**told["effective"], "clientConnection": None}
    return told


def _steps(line: Line) -> dict[str, Any]:
    return {"steps": comparable_steps(line)}


def _requeue(line: Line) -> dict[str, Any]:
    """Whether pods were tried and bound; how often and where is left to chance."""
    pods = {
        name: {
            "tried before": told["attempts_before"] > 0,
            "tried again": told["attempts_after_change"] > 0,
            **{when: {**told[when], "node": told[when]["node"] is not None} for when in ("before", "after")},
        }
        for name, told in line["result"].items()
    }
    return {"pods": pods}


def _extender(line: Line) -> dict[str, Any]:
    """The requests of the first attempt: which node is nominated then is left to chance."""
    result = dict(line["result"])
    if "node" in result:
        result["node"] = True
    if "victims" in result:
        result["victims"] = len(result["victims"])
    first = [each for each in line["requests"] if "nominatedNodeName" not in _pod_status(each)]
    requests = [_request(each) for each in _steady(first)]
    if all(each["path"].endswith("/prioritize") for each in requests):
        requests.sort(key=lambda each: str(each["path"]))  # they were sent at the same time
    return {"result": result, "requests": requests}


def _pod_status(request: Mapping[str, Any]) -> Mapping[str, Any]:
    status: Mapping[str, Any] = (request["body"].get("Pod") or {}).get("status", {})
    return status


def _request(request: Mapping[str, Any]) -> dict[str, Any]:
    body = dict(request["body"])
    body.pop("Node", None)
    if body.get("Nodes"):
        body["Nodes"] = sorted(body["Nodes"]["items"], key=lambda node: str(node["metadata"]["name"]))
    if body.get("NodeNames"):
        body["NodeNames"] = sorted(body["NodeNames"])
    for victims in (body.get("NodeNameToVictims") or {}).values():
        victims["Pods"] = sorted(victims["Pods"], key=lambda pod: str(pod["metadata"]["name"]))
    return {"path": request["path"], "body": body}


def _api(line: Line) -> dict[str, Any]:
    return {"steps": [_answer(step) for step in line["steps"]]}


def _answer(step: Mapping[str, Any]) -> dict[str, Any]:
    """Ages once more: some recordings have those of objects with a fixed time as they were.

    Of what is invalid the fields are compared and not the words, which quote Go's values in an order of chance.
    """
    told = {key: value for key, value in step.items() if key != "request"}
    if step.get("status") == 422:
        causes = step["answer"].get("details", {}).get("causes", ())
        told["answer"] = {"fields": sorted({each.get("field", "") for each in causes})}
    is_table = isinstance(told.get("answer"), dict) and told["answer"].get("kind") == "Table"
    text = json.dumps(normalised(told))
    return dict(json.loads(_AGE.sub('"AGE"', text) if is_table else text))


_KINDS: Mapping[str, Callable[[Line], dict[str, Any]]] = {
    "config": _config,
    "decision": _steps,
    "claims": _steps,
    "requeue": _requeue,
    "extender": _extender,
    "api": _api,
}


# --- the surface --------------------------------------------------------------------------------------------


def comparable_surface(surface: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics by name, events by reason; values of labels as sets."""
    metrics = {metric["name"]: dict(_metric(metric)) for metric in surface["metrics"]}
    metrics.pop("kubernetes_build_info", None)
    events = {event["reason"]: _event(event) for event in surface["events"]}
    told = {**surface, "metrics": metrics, "events": events}
    told.pop("version")
    text = _BY_CHANCE.sub("*", json.dumps(normalised(told)))
    found: dict[str, Any] = json.loads(text)
    return found


def _metric(metric: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in metric.items():
        if key == "labels":
            free = FREE_LABELS.get(metric["name"], ())
            yield key, {label: [] if label in free else sorted(values) for label, values in value.items()}
        elif key != "name":
            yield key, value


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    """Without the names of the pod that it was recorded of and of the machine."""
    told = dict(event)
    note = re.sub(r"^\S+ became", "* became", str(event["note"]))
    told["note"] = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UID", note)
    told["metadata"] = sorted(event["metadata"])
    told["regarding"] = sorted(event["regarding"])
    told.pop("reportingInstance", None)
    return told


# --- inside -------------------------------------------------------------------------------------------------


def _steady(value: Iterable[Any]) -> Any:
    """Without uids, versions, times, and the ends of names that the API server made up."""
    text = json.dumps(list(value), sort_keys=True)
    for prefix, name in set(_GENERATED.findall(text)):
        text = text.replace(name, f"{prefix}SUFFIX")
    return normalised(json.loads(text))
