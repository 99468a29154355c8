"""Verifies recorded extender calls: a configuration with extenders, scripted responses, one pod.

Identical means: the same requests, field by field; the same node (or one of equal rank), bind or message; the same
scores, and the same victims. The order of nodes in a request is random, and so is that of requests for scores and
of victims that have not started. Messages that quote Go's decoder or network errors only need the same meaning. If
preemption candidates have equal rank, the replay continues with the recorded one.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from bayplan.conformance import Context
from bayplan.conformance.decisions import message_about, scores_by_node
from bayplan.conformance.recorded_cluster import RecordedCluster
from bayplan.conformance.report import Difference, compare
from bayplan.conformance.scripted_extender import ScriptedExtender
from bayplan.core import Decision
from bayplan.framework import PreemptionReport, Status
from bayplan.model import Pod
from bayplan.shell.binding_cycle import bind_by_extender
from bayplan.shell.extender_driver import decide_with_extenders

#: Where the recorded extender listened.
RECORDED_URL: Final = "http://127.0.0.1:18888"
#: A nominated pod is tried again, at most this often.
MAX_ATTEMPTS: Final = 5
#: Text of a Go error → its meaning; the exact wording is not compared.
MEANINGS: Final = {
    "invalid character": "not JSON",
    "EOF": "not JSON",
    "max depth": "not JSON",
    "json: ": "not JSON of the right type",
    "Client.Timeout": "timeout",
    "connection refused": "connection refused",
}

Importance: TypeAlias = tuple[int, str]


def verify(line: dict[str, Any], context: Context) -> Iterator[tuple[str, list[Difference]]]:
    """One line is one step."""
    played = asyncio.run(_play(line, context))
    importance = {pod["metadata"]["uid"]: _importance(pod) for pod in line["bound"]}
    theirs = [_comparable(each, importance) for each in line["requests"]]
    ours = [_comparable(each, importance) for each in played.requests]
    yield "", [*_verify_requests(theirs, ours, played), *_verify_result(line["result"], played)]


# --- replay -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ReplayedCase:
    """The result of a replayed case."""

    decision: Decision
    #: How many requests each attempt had sent when it ended.
    n_sent: list[int] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    victims: list[str] = field(default_factory=list)
    #: The result of a bind by an extender; None if the plugins bind.
    bound: Status | None = None
    #: Where the extender listened.
    url: str = ""

    @property
    def message(self) -> str:
        """Why there is no node or no bind, with the URL of the recorded extender."""
        message = self.decision.message if self.bound is None else self.bound.message
        return message.replace(self.url, RECORDED_URL)


async def _play(line: dict[str, Any], context: Context) -> ReplayedCase:
    async with ScriptedExtender(line["requests"]) as extender:
        text = json.dumps(line["config"]).replace(RECORDED_URL, extender.url)
        cluster = RecordedCluster({**line, "config": json.loads(text)}, context.catalogue)
        played = await _try(cluster, Pod.from_dict(line["pod"]), line, extender)
        for each in cluster.core.extenders:
            await each.close()
        played.requests, played.url = extender.requests, extender.url
        return played


async def _try(
    cluster: RecordedCluster, pod: Pod, line: Mapping[str, Any], extender: ScriptedExtender
) -> ReplayedCase:
    n_sent: list[int] = []
    victims: list[str] = []
    while True:
        decision = await decide_with_extenders(cluster.core.schedulers[pod.spec.scheduler_name], pod)
        n_sent.append(len(extender.requests))
        if not decision.nominate or len(n_sent) == MAX_ATTEMPTS:
            break
        nominated, evicted = _recorded_candidate(decision, line, len(extender.requests))
        cluster.evict(victim.key for victim in evicted)
        victims += [victim.name for victim in evicted]
        pod = _as_written(pod, decision, nominated)
        cluster.core.nominator.add(pod, nominated)
    played = ReplayedCase(decision, n_sent, victims=victims)
    if decision.node_name:
        played.bound = await bind_by_extender(cluster.core.extenders, pod, decision.node_name)
    return played


def _recorded_candidate(decision: Decision, line: Mapping[str, Any], n_sent: int) -> tuple[str, Sequence[Pod]]:
    """The nominated node and its victims: the recorded one, if it is among our best."""
    considered = decision.record.preemption
    best = considered.best if isinstance(considered, PreemptionReport) else []
    following = line["requests"][n_sent:]
    nominated_node = following[0]["body"]["Pod"]["status"].get("nominatedNodeName") if following else None
    for wanted in (nominated_node or line["result"].get("node"), decision.nominate):
        for candidate in best:
            if candidate.node_name == wanted:
                return candidate.node_name, candidate.victims.pods
    return decision.nominate or "", decision.victims


def _as_written(pod: Pod, decision: Decision, nominated: str) -> Pod:
    """The pod as the API server has it after an attempt that found no node."""
    raw = copy.deepcopy(dict(pod.whole))
    raw["status"]["nominatedNodeName"] = nominated
    raw["status"]["conditions"] = [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": decision.reason,
            "message": message_about(decision, nominated),
            "observedGeneration": raw["metadata"].get("generation"),
            "lastProbeTime": None,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
    return Pod.from_dict(raw)


# --- requests ---------------------------------------------------------------------------------------------


def _verify_requests(
    theirs: list[dict[str, Any]], ours: list[dict[str, Any]], played: ReplayedCase
) -> Iterator[Difference]:
    theirs, ours = _in_order(theirs), _in_order(ours)
    if len(played.n_sent) > 1:
        # Not all requests of later attempts were recorded.
        ours = ours[: len(theirs)]
    paths = [each["path"] for each in ours]
    if paths != [each["path"] for each in theirs]:
        yield Difference("requests", [each["path"] for each in theirs], paths)
        return
    for number, (wanted, sent) in enumerate(zip(theirs, ours, strict=True)):
        if number >= played.n_sent[0]:
            for body in (wanted["body"], sent["body"]):
                # The pod was written since.
                body.get("Pod", {}).get("metadata", {}).pop("resourceVersion", None)
        yield from compare(wanted, sent, f"request {number} {wanted['path']}")


def _comparable(request: Mapping[str, Any], importance: Mapping[str, Importance]) -> dict[str, Any]:
    """The request without random and time-dependent values."""
    kept = {name: copy.deepcopy(request[name]) for name in ("method", "path", "content_type", "body")}
    kept["accept"] = request.get("accept")
    body: dict[str, Any] = kept["body"]
    if "PodUID" in body:
        body.pop("Node")  # one of several nodes of equal rank
    for condition in body.get("Pod", {}).get("status", {}).get("conditions", ()):
        condition.pop("lastTransitionTime")
    if body.get("Nodes") is not None:
        body["Nodes"]["items"].sort(key=lambda node: str(node["metadata"]["name"]))
        for node in body["Nodes"]["items"]:
            node["metadata"].pop("managedFields", None)  # left out of the recorded nodes
    if body.get("NodeNames") is not None:
        body["NodeNames"].sort()
    for victims in (body.get("NodeNameToVictims") or {}).values():
        victims["Pods"].sort(key=lambda pod: (importance[pod["metadata"]["uid"]], pod["metadata"]["uid"]))
    for victims in (body.get("NodeNameToMetaVictims") or {}).values():
        victims["Pods"].sort(key=lambda pod: (importance[pod["UID"]], pod["UID"]))
    return kept


def _importance(pod: Mapping[str, Any]) -> Importance:
    """Sort key of victims; the order of pods that have not started is random."""
    return -pod["spec"].get("priority", 0), str(pod["status"].get("startTime", "~"))


def _in_order(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort requests for scores: they are sent concurrently, so their order is random."""
    together = [each for each in requests if each["path"].endswith("/prioritize")]
    sorted_scores = iter(sorted(together, key=lambda each: str(each["path"])))
    return [next(sorted_scores) if each in together else each for each in requests]


# --- the outcome ------------------------------------------------------------------------------------------


def _verify_result(recorded: Mapping[str, Any], played: ReplayedCase) -> Iterator[Difference]:
    decision = played.decision
    if "scores" in recorded:
        ours = scores_by_node(decision.scores) if decision.scores is not None else {}
        yield from compare(recorded["scores"], ours, "scores")
    yield from compare(sorted(recorded.get("victims", ())), sorted(played.victims), "victims")
    if "message" in recorded:
        yield from _verify_failure(recorded, played)
    elif "node" in recorded or recorded.get("bind_delegated"):
        yield from _verify_node(recorded, played)


def _verify_failure(recorded: Mapping[str, Any], played: ReplayedCase) -> Iterator[Difference]:
    decision, bound = played.decision, played.bound
    if decision.node_name and (bound is None or bound.is_success):
        yield Difference("outcome", recorded["message"], f"node {decision.node_name}")
        return
    reason = decision.reason if bound is None else "SchedulerError"
    yield from compare(recorded["reason"], reason, "reason")
    yield from compare(_meaning(recorded["message"]), _meaning(played.message), "message")


def _verify_node(recorded: Mapping[str, Any], played: ReplayedCase) -> Iterator[Difference]:
    decision, bound = played.decision, played.bound
    if not decision.node_name or (bound is not None and not bound.is_success):
        yield Difference("outcome", dict(recorded), played.message)
        return
    yield from compare(bool(recorded.get("bind_delegated")), bound is not None, "bind_delegated")
    if "node" not in recorded:
        return
    best = [decision.node_name]
    if decision.scores is not None:
        totals = decision.scores.totals
        best = [str(name) for name in decision.scores.nodes.names[totals == totals.max()]]
    if recorded["node"] not in best:
        yield Difference("node", recorded["node"], best)


def _meaning(message: str) -> str:
    """The meaning of a message that quotes a Go error; any other message unchanged."""
    return next((meaning for words, meaning in MEANINGS.items() if words in message), message)
