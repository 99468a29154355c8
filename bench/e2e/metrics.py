"""The requests that the API server handled, from the text of its /metrics."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

_NAME = "apiserver_request_total{"
_LABEL = re.compile(r'(\w+)="([^"]*)"')
#: The requests for a pod; lists and watches belong to the start of a scheduler.
_VERBS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_RESOURCES = frozenset({"pods", "events"})

#: ("POST pods/binding", "201") → count.
RequestCounts = Counter[tuple[str, str]]


def handled_requests(text: str) -> RequestCounts:
    """All requests on pods and events so far."""
    counts: RequestCounts = Counter()
    for line in text.splitlines():
        if line.startswith(_NAME):
            head, _, count = line.rpartition(" ")
            labels = dict(_LABEL.findall(head))
            if labels["resource"] in _RESOURCES and labels["verb"] in _VERBS:
                counts[f"{labels['verb']} {_resource(labels)}", labels["code"]] += int(float(count))
    return counts


def between(
    before: RequestCounts, after: RequestCounts, own: Mapping[str, int]
) -> tuple[dict[str, int], dict[str, int]]:
    """The requests of the scheduler between two readings, and the refused ones; *own* are the driver's."""
    sent: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for (request, code), count in (after - before).items():
        sent[request] += count
        if code.startswith(("4", "5")):
            refused[f"{code} {request}"] += count
    sent.subtract({request: count for request, count in own.items() if request in sent})
    return {key: sent[key] for key in sorted(sent) if sent[key] > 0}, dict(sorted(refused.items()))


def request_name(method: str, path: str) -> str:
    """The name that `handled_requests` gives to a request for one object, or to a creation."""
    parts = path.strip("/").split("/")
    # api/v1/… or apis/GROUP/VERSION/…
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    if parts and parts[0] == "namespaces" and len(parts) > 2:
        parts = parts[2:]
    resource, *rest = parts or [""]
    return f"{method} {'/'.join([resource, *rest[1:]])}"


def _resource(labels: Mapping[str, str]) -> str:
    return "/".join(filter(None, (labels["resource"], labels["subresource"])))
