"""What a record says about nodes: groups by reason, the ranking by score, and one node in detail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bayplan.explain.explanation import (
    NextBest,
    NodeDetail,
    NodeGroup,
    NodeSummary,
    Placement,
    PluginScore,
    PluginVerdict,
    ScoreDifference,
    ScoredNode,
)
from bayplan.framework import Code, Status

if TYPE_CHECKING:
    from bayplan.explain.assessment import Assessment
    from bayplan.framework import Diagnosis
    from bayplan.observe.record import FilterView, ScoreView

#: How many nodes a ranking has.
N_RANKED: Final = 5


def summarize_nodes(outcome: FilterView | None, n_nodes: int, absent: Status | None = None) -> NodeSummary:
    """The nodes of *outcome* by their reasons; all others of the cluster share the status *absent*."""
    groups: dict[tuple[str, tuple[str, ...], bool], list[str]] = {}
    feasible: list[str] = []
    n_seen = 0
    if outcome is not None:
        feasible = outcome.nodes.names[outcome.feasible].tolist()
        n_seen = len(outcome.nodes)
        for status, positions in _rejected(outcome):
            key = status.plugin, status.reasons, status.code is Code.UNSCHEDULABLE
            groups.setdefault(key, []).extend(outcome.nodes.names[positions].tolist())
    found = [
        NodeGroup(plugin=plugin, reasons=reasons, count=len(names), nodes=tuple(names), resolvable=resolvable)
        for (plugin, reasons, resolvable), names in groups.items()
    ]
    if absent is not None and n_seen < n_nodes and absent.reasons:
        found.append(NodeGroup(plugin=absent.plugin, reasons=absent.reasons, count=n_nodes - n_seen))
    found.sort(key=lambda group: (-group.count, group.reasons))
    return NodeSummary(total=n_nodes, feasible=len(feasible), feasible_nodes=tuple(feasible), groups=tuple(found))


def _rejected(outcome: Any) -> Iterator[tuple[Status, Any]]:
    """The statuses of rejected nodes, with the positions of the nodes; many at a time, because a running scheduler
    waits meanwhile."""
    for entry in outcome.decided:
        rejections, statuses = entry.verdict.rejections, entry.verdict.statuses
        alike = entry.where.copy()
        for position in statuses:
            if alike[position]:
                alike[position] = False
                yield entry.status(position), [position]
        positions = np.flatnonzero(alike)
        # One number for each combination of reasons.
        masks = np.array([rejection.where[positions] for rejection in rejections], dtype=np.bool_)
        combinations = np.packbits(masks, axis=0).T if len(rejections) else np.zeros((len(positions), 0))
        _, firsts, inverse = np.unique(combinations, axis=0, return_index=True, return_inverse=True)
        for number, first in enumerate(firsts.tolist()):
            yield entry.status(int(positions[first])), positions[inverse.reshape(-1) == number]
    for position, status in outcome.overrides.items():
        if not outcome.feasible[position]:
            yield status, [position]


def summarize_diagnosis(diagnosis: Diagnosis) -> NodeSummary:
    return summarize_nodes(diagnosis.outcome, len(diagnosis.nodes), diagnosis.absent)


# --- scores -----------------------------------------------------------------------------------------------


def placement_of(scores: ScoreView | None, node_name: str, n_feasible: int) -> Placement:
    """Why *node_name* was chosen; without scores it was the only feasible node."""
    position = None if scores is None else scores.nodes.position(node_name)
    if scores is None or position is None:
        return Placement(node=node_name, n_feasible=n_feasible)
    totals = np.asarray(scores.totals, dtype=np.int64)
    order = np.lexsort((np.arange(len(totals)), -totals))
    own = int(totals[position])
    others = [each for each in order.tolist() if each != position]
    return Placement(
        node=node_name,
        n_feasible=n_feasible,
        total=own,
        n_best=int(np.count_nonzero(totals == totals.max())),
        scores=scores_at(scores, position),
        next_best=_next_best(scores, position, others[0], totals) if others else None,
        ranking=tuple(
            ScoredNode(node=str(scores.nodes.names[each]), total=int(totals[each]), scores=scores_at(scores, each))
            for each in order[:N_RANKED].tolist()
        ),
    )


def _next_best(scores: ScoreView, chosen: int, other: int, totals: Any) -> NextBest:
    differences = []
    for plugin, own in scores.by_plugin.items():
        difference = int(own.weighted[chosen]) - int(own.weighted[other])
        if difference:
            differences.append(ScoreDifference(plugin=plugin, difference=difference))
    differences.sort(key=lambda each: -abs(each.difference))
    return NextBest(
        node=str(scores.nodes.names[other]),
        total=int(totals[other]),
        by=int(totals[chosen]) - int(totals[other]),
        differences=tuple(differences),
    )


def scores_at(scores: ScoreView, position: int) -> tuple[PluginScore, ...]:
    return tuple(
        PluginScore(
            plugin=plugin,
            raw=int(own.raw[position]),
            normalized=int(own.normalized[position]),
            weight=int(own.weight),
            weighted=int(own.weighted[position]),
        )
        for plugin, own in scores.by_plugin.items()
    )


# --- one node ---------------------------------------------------------------------------------------------


def detail_of(
    assessment: Assessment, node_name: str, plugins: Iterable[str], scores: ScoreView | None
) -> NodeDetail | None:
    """Every plugin's verdict about a node, and its scores if it has any; None if there is no such node."""
    position = assessment.nodes.position(node_name)
    if position is None:
        return None
    verdicts = [_pre_filter_verdict(assessment, position)] if _is_pre_filtered(assessment, position) else []
    if assessment.pre_filter.is_success:
        verdicts += [_filter_verdict(assessment, plugin, position) for plugin in plugins]
    is_feasible = all(verdict.status != "Rejected" for verdict in verdicts)
    return NodeDetail(name=node_name, feasible=is_feasible, verdicts=tuple(verdicts), **_scored(scores, node_name))


def recorded_detail(
    outcome: FilterView, node_name: str, plugins: Iterable[str], scores: ScoreView | None
) -> NodeDetail | None:
    """What an attempt found out about a node; None if the node was not among those that it looked at.

    A scheduling cycle asks no further plugin about a node that one has rejected.
    """
    position = outcome.nodes.position(node_name)
    if position is None:
        return None
    status, is_feasible = outcome.status(position), bool(outcome.feasible[position])
    # A search that has found enough nodes asks nobody about the others.
    verdict = "Passed" if is_feasible or status is not None else "NotAsked"
    verdicts = []
    for plugin in plugins:
        if status is not None and plugin == status.plugin:
            verdicts.append(
                PluginVerdict(plugin=plugin, point="Filter", status="Rejected", reasons=status.reasons)
            )
            verdict = "NotAsked"
        else:
            verdicts.append(PluginVerdict(plugin=plugin, point="Filter", status=verdict))
    if status is not None and verdict != "NotAsked":
        verdicts.append(
            PluginVerdict(plugin=status.plugin, point="Extender", status="Rejected", reasons=status.reasons)
        )
    return NodeDetail(name=node_name, feasible=is_feasible, verdicts=tuple(verdicts), **_scored(scores, node_name))


def _scored(scores: ScoreView | None, node_name: str) -> dict[str, Any]:
    """The fields of a `NodeDetail` about the scores of a node."""
    position = None if scores is None else scores.nodes.position(node_name)
    if scores is None or position is None:
        return {}
    totals = np.asarray(scores.totals)
    total = int(totals[position])
    rank = 1 + int(np.count_nonzero(totals > total))
    return {"total": total, "rank": rank, "scores": scores_at(scores, position)}


def _is_pre_filtered(assessment: Assessment, position: int) -> bool:
    excluded = assessment.excluded
    return not assessment.pre_filter.is_success or (excluded is not None and bool(excluded[0][position]))


def _pre_filter_verdict(assessment: Assessment, position: int) -> PluginVerdict:
    status = assessment.pre_filter
    if not status.is_success:
        return PluginVerdict(plugin=status.plugin, point="PreFilter", status="Rejected", reasons=status.reasons)
    plugins = assessment.excluded[1] if assessment.excluded is not None else frozenset()
    reason = "the node is not among those that the pod is restricted to"
    return PluginVerdict(
        plugin=", ".join(sorted(plugins)), point="PreFilter", status="Rejected", reasons=(reason,)
    )


def _filter_verdict(assessment: Assessment, plugin: str, position: int) -> PluginVerdict:
    verdict = assessment.verdicts.get(plugin)
    if verdict is None:
        return PluginVerdict(plugin=plugin, point="Filter", status="Skipped")
    status = verdict if isinstance(verdict, Status) else verdict.status(position)
    if status is None:
        return PluginVerdict(plugin=plugin, point="Filter", status="Passed")
    return PluginVerdict(plugin=plugin, point="Filter", status="Rejected", reasons=status.reasons)
