"""Verifies recorded decisions: pods decided one after another on a recorded cluster.

Identical means: the same kind of outcome; the same feasible nodes, with the same score from every plugin; the
recorded node among ours with the highest total; exactly the same message; the recorded nominated node among our
best candidates, with the same victims. The replay always continues with the recorded outcome.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.conformance import Context
from bayplan.conformance.recorded_cluster import RecordedCluster
from bayplan.conformance.report import Difference, compare
from bayplan.core import Decision
from bayplan.framework import PreemptionReport, ScoreOutcome
from bayplan.model import Pod


def verify(line: dict[str, Any], context: Context) -> Iterator[tuple[str, list[Difference]]]:
    """One step per pending pod."""
    return _verify(line, context, scored=True)


def verify_unscored(line: dict[str, Any], context: Context) -> Iterator[tuple[str, list[Difference]]]:
    """The same for recordings without scores: a recorded node must be a feasible one."""
    return _verify(line, context, scored=False)


def _verify(line: dict[str, Any], context: Context, *, scored: bool) -> Iterator[tuple[str, list[Difference]]]:
    cluster = RecordedCluster(line, context.catalogue)
    for number, step in enumerate(line["steps"]):
        pod = Pod.from_dict(step["pod"])
        yield f"step {number} ({outcome_of(step)})", list(_verify_step(cluster, pod, step, scored=scored))
        cluster.replace_volumes(step)


def outcome_of(step: dict[str, Any]) -> str:
    """The kind of a recorded outcome, for the label."""
    for outcome in ("gated", "preemption", "unschedulable"):
        if outcome in step:
            return outcome
    return "scored" if "scores" in step else "single node"


def _verify_step(
    cluster: RecordedCluster, pod: Pod, step: dict[str, Any], *, scored: bool
) -> Iterator[Difference]:
    gate = cluster.profile(pod).plugins.pre_enqueue(pod)
    if step.get("gated") or gate is not None:
        if bool(step.get("gated")) == (gate is None):
            yield Difference("outcome", outcome_of(step), f"gated: {gate}")
        return
    decision = cluster.decide(pod)
    if "preemption" in step:
        yield from verify_preemption(decision, step["preemption"])
        cluster.evict(step["preemption"]["victims"])
        if step.get("timeout"):
            return
        pod = cluster.nominate(pod, step["preemption"]["nominated"])
        decision = cluster.decide(pod)
    if "node" in step:
        has_scorers = scored and cluster.profile(pod).runner.has("score")
        yield from verify_node(decision, step, has_scorers=has_scorers)
        cluster.place(pod, step["node"], step.get("start_time"))
    elif "unschedulable" in step:
        yield from verify_unschedulable(decision, step)


def verify_node(decision: Decision, step: dict[str, Any], *, has_scorers: bool) -> Iterator[Difference]:
    if not decision.node_name:
        yield Difference("outcome", f"node {step['node']}", decision.message)
        return
    if "scores" not in step:
        yield from _verify_unscored(decision, step["node"], has_scorers=has_scorers)
        return
    if decision.scores is None:
        yield Difference("feasible nodes", sorted(step["scores"]), [decision.node_name])
        return
    ours_by_node = scores_by_node(decision.scores)
    yield from compare(step["scores"], ours_by_node, "scores")
    best = max(scores["total"] for scores in ours_by_node.values())
    if step["node"] in ours_by_node and ours_by_node[step["node"]]["total"] != best:
        yield Difference("node", step["node"], [n for n, s in ours_by_node.items() if s["total"] == best])


def _verify_unscored(decision: Decision, node: str, *, has_scorers: bool) -> Iterator[Difference]:
    """Without scores, one node was feasible; in a profile without scorers, the first feasible node was taken."""
    feasible = _feasible(decision)
    if node not in feasible or (has_scorers and len(feasible) > 1):
        yield Difference("feasible nodes", [node], feasible)


def _feasible(decision: Decision) -> list[str]:
    """Every node that passed the filters; only the nominated node if the pod went there."""
    outcome = decision.record.filter
    if outcome is None:
        return [decision.node_name]
    return [str(name) for name in outcome.nodes.names[outcome.feasible]]


def scores_by_node(scores: ScoreOutcome) -> dict[str, dict[str, int]]:
    """Node → plugin → weighted score, and `total`."""
    return {
        str(name): {
            **{plugin: int(own.weighted[i]) for plugin, own in scores.by_plugin.items()},
            "total": int(scores.totals[i]),
        }
        for i, name in enumerate(scores.nodes.names)
    }


def verify_unschedulable(decision: Decision, step: dict[str, Any]) -> Iterator[Difference]:
    if decision.node_name:
        yield Difference("outcome", step["unschedulable"], f"node {decision.node_name}")
        return
    if decision.nominate:
        yield Difference("outcome", step["unschedulable"], f"preemption on {decision.nominate}")
        return
    yield from compare(step["reason"], decision.reason, "reason")
    yield from compare(step["unschedulable"], decision.message, "message")


def message_about(decision: Decision, node_name: str) -> str:
    """The message of a preemption, had it chosen this node: kube-scheduler picks among the best at random."""
    return decision.message.replace(f" on node {decision.nominate},", f" on node {node_name},")


def verify_preemption(decision: Decision, recorded: dict[str, Any]) -> Iterator[Difference]:
    considered = decision.record.preemption
    if not decision.nominate or not isinstance(considered, PreemptionReport):
        yield Difference("outcome", recorded, decision.node_name or decision.message)
        return
    yield from compare(recorded["message"], message_about(decision, recorded["nominated"]), "message")
    best = considered.best
    # kube-scheduler picks among them at random.
    chosen = next((each for each in best if each.node_name == recorded["nominated"]), None)
    if chosen is None:
        yield Difference("nominated", recorded["nominated"], [each.node_name for each in best])
        return
    ours = sorted(victim.key for victim in chosen.victims.pods)
    yield from compare(sorted(recorded["victims"]), ours, f"victims on {chosen.node_name}")
