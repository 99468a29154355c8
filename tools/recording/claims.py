"""Records decisions about pods with resource claims: pods created one after another on a cluster with devices.

The clusters and pods are those of an earlier recording, or the same pods in another order (`reordered`). The
control plane runs the controllers that make claims from templates and release them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from typing import Any

from tests.e2e.api import Api, Object, eventually
from tests.e2e.seen import Kubelets, condition
from tools.recording.live_cluster import LiveCluster, plain

from bayplan.conformance.claims import DEALLOCATED

CONTROLLERS = ("resourceclaim-controller", "garbage-collector-controller")
#: A pod of which nothing was heard for so long is not tried any more; one that made room for itself is.
QUIET_SECONDS = 1.5
HELD_SECONDS = 3.0
RETRY_SECONDS = 12.0
_STATUSES = ("resourceClaimStatuses", "extendedResourceClaimStatus")


def record_claims(cluster: LiveCluster, line: Mapping[str, Any]) -> Object:
    """The line with what this release made of it."""
    recorded = {**line, **cluster.create_cluster(line)}
    cluster.start_controllers(*CONTROLLERS)
    cluster.start_scheduler(line["config"])
    with Kubelets(cluster.api):
        recorded["steps"] = []
        for step in line["steps"]:
            recorded["steps"].append(_step(cluster, step["pod"]))
            if recorded["steps"][-1].get("timeout"):
                break
    return recorded


def reordered(line: Mapping[str, Any], seed: int) -> Object:
    """Another scenario: the same cluster, its pods in an order of chance."""
    pods = [{"pod": step["pod"]} for step in line["steps"]]
    random.Random(seed).shuffle(pods)  # noqa: S311  an order, not a secret
    return {**line, "seed": seed, "steps": pods}


def _step(cluster: LiveCluster, pod: Object) -> Object:
    before = {_key(each) for each in cluster.api.list("Pod")}
    made = cluster.create(pod)
    _await_outcome(cluster, made)
    versions = cluster.history(made)
    told = {"pod": made, **outcome(versions, cluster.scores(_key(made)))}
    if "preemption" in told:
        told["preemption"]["victims"] = sorted(before - {_key(each) for each in _living(cluster.api)})
    eventually(lambda: not list(_left_behind(cluster.api)))
    told["claims_after"] = [plain(each) for each in cluster.api.list("ResourceClaim")]
    if "node" not in told:
        cluster.api.delete("Pod", made["metadata"]["name"], namespace=made["metadata"]["namespace"])
        eventually(lambda: not list(_left_behind(cluster.api)))
    return told


def _await_outcome(cluster: LiveCluster, made: Object) -> None:
    """Until the pod is bound, or nothing more happens to it."""
    seen, since = None, time.monotonic()
    while True:
        pod = cluster.api.get("Pod", made["metadata"]["name"], namespace=made["metadata"]["namespace"])
        if pod["spec"].get("nodeName"):
            return
        now = (pod["metadata"]["resourceVersion"], len(cluster.attempts(_key(made))))
        if now != seen:
            seen, since = now, time.monotonic()
        elif time.monotonic() - since > _patience(pod, now[1]):
            return
        time.sleep(0.1)


def _patience(pod: Object, attempts: int) -> float:
    told = condition(pod)
    if told is None:
        return RETRY_SECONDS if attempts else HELD_SECONDS
    is_tried_again = pod["status"].get("nominatedNodeName") or DEALLOCATED in told.get("message", "")
    return RETRY_SECONDS if is_tried_again else QUIET_SECONDS


# --- what became of a pod -------------------------------------------------------------------------------


def outcome(versions: list[Object], scores: list[dict[str, dict[str, int]]]) -> Object:
    """The step of a pod with these versions, the newest last, and these scores of its attempts."""
    last = versions[-1]
    told: Object = {name: last["status"][name] for name in _STATUSES if name in last["status"]}
    messages = list(_messages(versions))
    nominated = next((each for each in versions if _is_preempting(each)), None)
    if nominated is not None:
        refusal = condition(nominated) or {}
        told["preemption"] = {
            "nominated": nominated["status"]["nominatedNodeName"],
            "message": refusal.get("message", ""),
        }
    refused = condition(last)
    if node_name := last["spec"].get("nodeName"):
        told["node"] = node_name
        if scores and scores[-1]:
            told["scores"] = scores[-1]
    elif _is_preempting(last):
        told["timeout"] = True
    elif refused is None:
        told["held"] = True
    else:
        told |= {"unschedulable": messages.pop(), "reason": refused["reason"]}
    if messages:
        told["messages_before"] = messages
    return told


def _is_preempting(version: Object) -> bool:
    """A pod that is about to be bound is nominated too, but was not refused before."""
    return bool(version["status"].get("nominatedNodeName")) and condition(version) is not None


def _messages(versions: list[Object]) -> Iterator[str]:
    """Each message of the condition once, the last one last.

    Of errors only the last: they are tried again and again, and which node's is told is left to chance.
    """
    found: dict[str, None] = {}
    for version in versions:
        told = condition(version)
        is_passing = told is not None and told.get("reason") == "SchedulerError" and version is not versions[-1]
        if told is not None and told["status"] == "False" and not is_passing:
            found.pop(told["message"], None)
            found[told["message"]] = None
    return iter(found)


# --- the cluster between two steps ------------------------------------------------------------------------


def _key(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _living(api: Api) -> list[Object]:
    return [pod for pod in api.list("Pod") if "deletionTimestamp" not in pod["metadata"]]


def _left_behind(api: Api) -> Iterator[Object]:
    """Claims of pods that are gone: made for them, or reserved by them."""
    uids = {pod["metadata"]["uid"] for pod in api.list("Pod")}
    for claim in api.list("ResourceClaim"):
        users = [each["uid"] for each in claim.get("status", {}).get("reservedFor", ())]
        owners = [each["uid"] for each in claim["metadata"].get("ownerReferences", ())]
        if "deletionTimestamp" in claim["metadata"] or not uids.issuperset([*users, *owners]):
            yield claim
