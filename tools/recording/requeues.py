"""Records requeues: a cluster with pods that find no node, one change, and which of the pods are tried again.

The pods, the cluster and the change are those of an earlier recording.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from tests.e2e.api import Object, eventually
from tests.e2e.seen import condition
from tools.recording.live_cluster import LiveCluster, as_created, plain

from bayplan.conformance.requeues import OBSERVATION_SECONDS, SETTLING_SECONDS


def record_requeue(cluster: LiveCluster, line: Mapping[str, Any]) -> Object:
    """The line with what this release made of it."""
    recorded = {**line, **cluster.create_cluster(line)}
    cluster.start_scheduler(line["config"])
    recorded["pending"] = [cluster.create(pod) for pod in line["pending"]]
    names = [pod["metadata"]["name"] for pod in recorded["pending"]]
    eventually(lambda: all(_is_tried(cluster, pod) for pod in recorded["pending"]))
    time.sleep(SETTLING_SECONDS)
    before = {name: (len(cluster.attempts(f"default/{name}")), _state(cluster, name)) for name in names}
    recorded["change"] = _make(cluster, line["change"])
    time.sleep(OBSERVATION_SECONDS)
    recorded["result"] = {
        name: {
            "attempts_before": tried,
            "before": state,
            "attempts_after_change": len(cluster.attempts(f"default/{name}")) - tried,
            "after": _state(cluster, name),
        }
        for name, (tried, state) in before.items()
    }
    return recorded


def _is_tried(cluster: LiveCluster, pod: Object) -> bool:
    """Or held by a gate: the API server itself says so in the condition."""
    return condition(cluster.api.get("Pod", pod["metadata"]["name"])) is not None


def _state(cluster: LiveCluster, name: str) -> Object:
    """The node of the pod, or the message of its condition; a pod that is gone has neither."""
    found = [pod for pod in cluster.api.list("Pod") if pod["metadata"]["name"] == name]
    if not found:
        return {"node": None, "message": None}
    told = condition(found[0])
    message = told.get("message") if told is not None and told["status"] == "False" else None
    return {"node": found[0]["spec"].get("nodeName"), "message": message}


# --- the change -----------------------------------------------------------------------------------------


def _make(cluster: LiveCluster, change: Mapping[str, Any]) -> Object:
    """Carry out the recorded change; it is told as the API server has it."""
    verb = change["verb"]
    if verb == "create":
        return {"verb": verb, "object": cluster.create(change["object"])}
    recorded = change["old"]
    kind, name = recorded["kind"], recorded["metadata"]["name"]
    old = cluster.api.get(kind, name)
    if verb == "delete":
        cluster.api.delete(kind, name)
        return {"verb": verb, "old": plain(old)}
    return {"verb": verb, "old": plain(old), "object": plain(_update(cluster, old, recorded, change["object"]))}


def _update(cluster: LiveCluster, now: Object, before: Object, after: Object) -> Object:
    """Only what the change is about is written, and the status where that is its own."""
    wanted, was = as_created(after), as_created(before)
    changed = {name: value for name, value in wanted.items() if value != was.get(name)}
    if "metadata" in changed:
        changed["metadata"] = {**now["metadata"], **wanted["metadata"]}
    subresource = "status" if changed.keys() == {"status"} else None
    return cluster.api.replace({**now, **changed}, subresource=subresource)
