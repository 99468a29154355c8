"""Records the surface of a kube-scheduler: metrics, events, the status of pods, flags and endpoints.

The scheduler is elected, tells one story (tests/e2e/surface_story.py), and what it shows then is written down.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from prometheus_client import Metric
from tests.e2e.api import Api, Object
from tests.e2e.control_plane import ControlPlane
from tests.e2e.surface_story import (
    EVENTS,
    NODES,
    REASONS,
    scraped,
    spared_pod,
    status_for_a_stranger,
    tell_the_story,
)
from tools.recording.comparable import FREE_LABELS

#: The metrics of a scheduler, by how they begin; the other ones belong to Go and to its libraries.
OWN_METRICS = (
    *("scheduler_", "kubernetes_", "informer_"),
    *("leader_election_master_status", "process_start_time_seconds"),
)
#: Those of libraries that alerts are often made of.
LIBRARY_METRICS = ("rest_client_request_duration_seconds", "rest_client_requests_total", "workqueue_depth")
#: Path → whether its checks are recorded, and what strangers are answered.
ENDPOINTS: Mapping[str, Sequence[str]] = {
    "/configz": (),
    "/flagz": (),
    "/healthz": (),
    "/livez": ("verbose",),
    "/metrics": ("anonymous",),
    "/metrics/resources": (),
    "/readyz": ("verbose",),
    "/statusz": (),
    "/version": (),
}
#: The scheduler keeps the durations of plugins back, up to a second, before they can be scraped.
FLUSH_SECONDS = 2
_STABILITY = re.compile(r"\[(\w+)\] ")
_FLAG = re.compile(r"^ +(?:-\w, )?--([\w-]+)(?: (\S+))? {2,}(.*)$")
_DEFAULT = re.compile(r"\(default (.*)\)$")


def record_surface(programs: Mapping[str, Path], release: str, folder: Path) -> Object:
    """In the form of tests/parity/golden/surface-*.json."""
    with ControlPlane(folder, programs=programs) as plane:
        plane.api.create_many(NODES)
        process = plane.start_scheduler({"leaderElection": {"leaderElect": True}})
        assert process.port is not None  # noqa: S101  start_scheduler waited for it
        tell_the_story(plane.api)
        time.sleep(FLUSH_SECONDS)
        own = plane.client(process.port)
        try:
            return {
                "version": release,
                "metrics": list(described(scraped(own, "/metrics"))),
                "metrics_resources": _resources(scraped(own, "/metrics/resources")),
                "events": _events(plane.api),
                "pod_status": _statuses(plane.api),
                "flags": flags(_help(programs["kube-scheduler"])),
                "endpoints": {path: _endpoint(own, process.port, path) for path in ENDPOINTS},
            }
        finally:
            own.close()


# --- metrics ------------------------------------------------------------------------------------------


def described(families: Mapping[str, Metric]) -> Iterator[Object]:
    """Each metric of a scheduler with its type, stability, labels and their values, and buckets."""
    for name in sorted(families):
        if name.startswith(OWN_METRICS) or name in LIBRARY_METRICS:
            yield _described(name, families[name])


def _described(name: str, family: Metric) -> Object:
    samples = [each for each in family.samples if not each.name.endswith(("_sum", "_count", "_created"))]
    stability = _STABILITY.match(family.documentation)
    free = FREE_LABELS.get(name, ())
    labels = sorted({label for sample in samples for label in sample.labels} - {"le"})
    told: Object = {
        "name": name,
        "type": family.type,
        "stability": stability[1] if stability else None,
        "labels": {
            label: [] if label in free else sorted({sample.labels[label] for sample in samples})
            for label in labels
        },
    }
    if family.type == "histogram":
        told["buckets"] = list(dict.fromkeys(sample.labels["le"] for sample in samples))
    return told


def _resources(families: Mapping[str, Metric]) -> Object:
    labels = {label for family in families.values() for sample in family.samples for label in sample.labels}
    return {"names": sorted(families), "labels": sorted(labels)}


# --- what is in the API server ------------------------------------------------------------------------


def _events(api: Api) -> list[Object]:
    """The first of each reason, a13's of those that failed: `pre` found no room at first either."""
    found = api.list(EVENTS)
    return [_event(reason, found) for reason in REASONS]


def _event(reason: str, events: Sequence[Object]) -> Object:
    told = [each for each in events if each["reason"] == reason]
    chosen = next((each for each in told if each["regarding"]["name"] == "a13"), told[0])
    metadata = {name: value for name, value in chosen["metadata"].items() if name != "managedFields"}
    return {"apiVersion": "events.k8s.io/v1", "kind": "Event", **chosen, "metadata": metadata}


def _statuses(api: Api) -> Object:
    """Of a pod that was bound, one that found no room, one with a gate, and one that waits for its victims."""
    shown = {"a1": spared_pod(api), "a13": "a13", "gated": "gated", "pre": "pre"}
    return {name: api.get("Pod", pod)["status"] for name, pod in shown.items()}


# --- flags and endpoints ------------------------------------------------------------------------------


def _help(program: Path) -> str:
    return subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout  # noqa: S603


def flags(text: str) -> dict[str, Any]:
    """Of what --help prints: flag → type, default (None if it is none, zero or false), whether deprecated."""
    found: dict[str, Any] = {}
    for line in text.splitlines():
        if match := _FLAG.match(line):
            deprecated = match[3].startswith("DEPRECATED")
            found[match[1]] = {"type": match[2] or "bool", "default": None, "deprecated": deprecated}
        if found and (given := _DEFAULT.search(line.rstrip())):
            found[next(reversed(found))]["default"] = given[1].strip('"')
    return dict(sorted(found.items()))


def _endpoint(api: Api, port: int, path: str) -> Object:
    status = api.raw("GET", path, accept="text/plain")[0]
    told: Object = {} if status == 200 else {"status": status}
    if "verbose" in ENDPOINTS[path]:
        told["verbose"] = api.raw("GET", f"{path}?verbose")[1].decode()
    if "anonymous" in ENDPOINTS[path]:
        told["anonymous"] = status_for_a_stranger(port, path)
    return told
