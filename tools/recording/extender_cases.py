"""Records extender cases: a configuration with extenders, scripted answers, one pod.

The cases and their answers are those of an earlier recording. The extender listens on a port of its own; in what
is written it has the recorded address.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tests.e2e.api import Object, eventually
from tests.e2e.seen import Kubelets, condition
from tools.recording.live_cluster import LiveCluster, klog_time

from bayplan.conformance.extender_calls import RECORDED_URL
from bayplan.conformance.scripted_extender import ScriptedExtender

#: After an extender has taken over a bind: would the scheduler say more, it had by then.
DELEGATED_SECONDS = 1.0


def record_extender_case(cluster: LiveCluster, line: Mapping[str, Any]) -> Object:
    """The line with what this release asked and made of the answers."""
    recorded = {**line, **cluster.create_cluster(line)}
    script = json.loads(_renamed(json.dumps(line["requests"]), cluster.uids))
    with serving(script) as extender, Kubelets(cluster.api):
        cluster.start_scheduler(json.loads(json.dumps(line["config"]).replace(RECORDED_URL, extender.url)))
        pod = recorded["pod"] = cluster.create(line["pod"])
        result = eventually(lambda: _result(cluster, pod, extender), interval=0.1)
        key = f"default/{pod['metadata']['name']}"
        if scores := cluster.scores(key)[0 if "message" in result else -1]:
            result["scores"] = scores
        if any("preemptVerb" in each for each in line["config"]["extenders"]):
            result["victims"] = sorted(_gone(cluster, recorded["bound"]))
        attempts = cluster.attempts(key) if "message" in result else []
        recorded |= {"requests": list(_sent(extender, attempts)), "result": result}
        told: Object = json.loads(json.dumps(recorded).replace(extender.url, RECORDED_URL))
        return told


def _sent(extender: ScriptedExtender, attempts: Sequence[str]) -> Iterator[Object]:
    """The requests before the second of the attempts: a pod that found no node is tried again at once."""
    for seconds, request in zip(list(extender.received_at), list(extender.requests), strict=False):
        if len(attempts) < 2 or klog_time(seconds) < attempts[1]:
            yield request


def _renamed(text: str, uids: Mapping[str, str]) -> str:
    for old, new in uids.items():
        text = text.replace(old, new)
    return text


def _result(cluster: LiveCluster, pod: Object, extender: ScriptedExtender) -> Object | None:
    """Once the pod is bound, refused, or left to the extender; a nominated pod is tried again."""
    for version in cluster.history(pod):
        if node_name := version["spec"].get("nodeName"):
            return {"node": node_name}
        told = condition(version)
        if told is not None and not version["status"].get("nominatedNodeName"):
            return {"reason": told["reason"], "message": told["message"]}
    if any(_is_bound(request) for request in list(extender.requests)):
        time.sleep(DELEGATED_SECONDS)
        (version, *_) = cluster.history(pod)
        return {"bind_delegated": True} if condition(version) is None else None
    return None


def _is_bound(request: Mapping[str, Any]) -> bool:
    """Whether the extender was asked to bind, and said that it did."""
    answer = request.get("response")
    return "PodUID" in request["body"] and answer == {"status": 200, "body": {}}


def _gone(cluster: LiveCluster, bound: list[Object]) -> Iterator[str]:
    left = {
        pod["metadata"]["uid"] for pod in cluster.api.list("Pod") if "deletionTimestamp" not in pod["metadata"]
    }
    return (pod["metadata"]["name"] for pod in bound if pod["metadata"]["uid"] not in left)


@contextmanager
def serving(script: list[Mapping[str, Any]]) -> Iterator[ScriptedExtender]:
    """A scripted extender that answers while the caller waits."""
    loop = asyncio.new_event_loop()
    extender = ScriptedExtender(script)
    loop.run_until_complete(extender.__aenter__())
    thread = threading.Thread(target=loop.run_forever, name="extender")
    thread.start()
    try:
        yield extender
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(extender.__aexit__())
        loop.close()
