"""Assessment: every Filter plugin's verdict about every node, for one pod.

A scheduling cycle stops at the first plugin that rejects a node. To find out what would help, all obstacles have
to be known, so here every plugin is called for every node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayplan.framework import Code, CycleState, NodeTable, Status, Verdict
from bayplan.framework.calls import as_status
from bayplan.framework.evaluator import DirectEvaluator

if TYPE_CHECKING:
    from bayplan.cache import CacheSnapshot
    from bayplan.core import Profile
    from bayplan.framework.calls import PluginMethod
    from bayplan.framework.verdict import BoolArray
    from bayplan.model import Pod


class Obstacle(NamedTuple):
    """One reason of one plugin against some nodes."""

    plugin: str
    reason: str
    #: bool, shape (n_nodes,)
    where: BoolArray
    #: Whether removing pods could help.
    is_resolvable: bool = False


class Assessment(NamedTuple):
    """What stands between a pod and the nodes."""

    nodes: NodeTable
    state: CycleState
    #: The PreEnqueue plugin that gates the pod, and its status; None if none does.
    gate: tuple[str, Status] | None
    #: The status of PreFilter; if it is not a success, no Filter plugin was called.
    pre_filter: Status
    #: Plugin → its verdict, or the error that it returned.
    verdicts: Mapping[str, Verdict | Status]
    #: Nodes that PreFilter excluded, and the plugins that did; None if it excluded none.
    excluded: tuple[BoolArray, frozenset[str]] | None = None
    skipped: frozenset[str] = frozenset()

    def obstacles(self) -> list[Obstacle]:
        """The obstacles in the order of the plugins."""
        found = []
        if self.excluded is not None:
            where, plugins = self.excluded
            found.append(Obstacle(sorted(plugins)[0], "excluded by PreFilter", where))
        for plugin, verdict in self.verdicts.items():
            if isinstance(verdict, Status):
                continue
            found += [
                Obstacle(plugin, each.reason, each.where, each.code is Code.UNSCHEDULABLE)
                for each in verdict.rejections
                if each.where.any()
            ]
            found += _per_node_obstacles(plugin, verdict)
        return found


def _per_node_obstacles(plugin: str, verdict: Verdict) -> list[Obstacle]:
    masks: dict[tuple[str, Code], BoolArray] = {}
    for position, status in verdict.statuses.items():
        for reason in status.reasons:
            key = reason, status.code
            masks.setdefault(key, np.zeros(verdict.n_nodes, dtype=np.bool_))[position] = True
    return [Obstacle(plugin, reason, where, code is Code.UNSCHEDULABLE) for (reason, code), where in masks.items()]


def assess(profile: Profile, snapshot: CacheSnapshot, pod: Pod) -> Assessment:
    nodes, state = snapshot.nodes, CycleState()
    gate = profile.plugins.pre_enqueue(pod)
    outcome = profile.runner.pre_filter(state, pod, nodes)
    if not outcome.status.is_success or not len(nodes):
        return Assessment(nodes, state, gate, outcome.status, {})
    excluded = None
    if (names := outcome.result.node_names) is not None:
        excluded = ~np.isin(nodes.names.astype(str), sorted(names)), outcome.narrowed_by
    methods = [each for each in profile.plugins.on("filter") if each.name not in state.skip_filter]
    verdicts = {method.name: _verdict(profile, method, state, pod, nodes) for method in methods}
    return Assessment(nodes, state, gate, outcome.status, verdicts, excluded, skipped=frozenset(state.skip_filter))


def _verdict(
    profile: Profile, method: PluginMethod, state: CycleState, pod: Pod, nodes: NodeTable
) -> Verdict | Status:
    caller = profile.plugins.caller
    if not method.is_per_node:
        return DirectEvaluator(caller).verdict(method, state, pod, nodes)
    statuses: dict[int, Status] = {}
    call = caller.node_caller(method, state, pod)
    for position in range(len(nodes)):
        returned = call(nodes[position])
        if returned is None or (status := as_status(method, returned)).is_success:
            continue
        if not status.is_rejection:
            return status
        statuses[position] = status.by(method.name)
    return Verdict(len(nodes), statuses=statuses)
