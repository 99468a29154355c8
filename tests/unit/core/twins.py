"""Two schedulers over one cluster: the composed one, which keeps answers, and one built afresh that asks always.

`Twins` applies every change to the composed scheduler and to a plain list of objects; `decide` asks both and
gives what each decided, in plain values that can be compared.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bayplan.config import Loaded
from bayplan.core import Decision, SchedulerCore
from bayplan.framework import (
    Clock,
    FilterOutcome,
    PreemptionReport,
    Registry,
    ScoreOutcome,
    Status,
)
from bayplan.model import KubeObject, Node, Pod
from bayplan.scheduler import new_core
from bayplan.testing import VirtualClock

Raw = dict[str, Any]


def make_plain(loaded: Loaded, registry: Registry, clock: Clock) -> SchedulerCore:
    """A core without caches, whose preemption tries its nodes one by one."""
    core = new_core(loaded, registry, clock=clock, seed=0, use_caches=False)
    for profile in core.profiles.values():
        profile.evaluation.judges_by_amounts = lambda state: False  # type: ignore[method-assign]
    return core


class Twins:
    """One cluster, two schedulers. Objects are raw, so that each scheduler decodes its own."""

    def __init__(self, loaded: Loaded, registry: Registry) -> None:
        self._loaded = loaded
        self._registry = registry
        self.clock = VirtualClock()
        self.kept = new_core(loaded, registry, clock=self.clock, seed=0)
        self.nodes: dict[str, Raw] = {}
        #: Pods on nodes, by uid.
        self.pods: dict[str, Raw] = {}
        self._objects: dict[tuple[str, str, str], tuple[type[KubeObject], Raw]] = {}
        self._nominated: dict[str, tuple[Raw, str]] = {}

    # --- changes ----------------------------------------------------------------------------------

    def set_node(self, raw: Raw) -> None:
        self.nodes[raw["metadata"]["name"]] = raw
        self.kept.cache.set_node(Node.from_dict(copy.deepcopy(raw)))

    def remove_node(self, name: str) -> None:
        del self.nodes[name]
        self.kept.cache.remove_node(name)

    def place(self, raw: Raw, node_name: str, *, assume: bool = False) -> None:
        """The pod is on the node: seen there by the watch, or assumed."""
        placed = on_node(raw, node_name)
        uid = raw["metadata"]["uid"]
        self.pods.pop(uid, None)
        self.pods[uid] = placed
        if assume:
            self.kept.cache.assume(Pod.from_dict(copy.deepcopy(raw)), node_name)
        else:
            self.kept.cache.add_pod(Pod.from_dict(copy.deepcopy(placed)))

    def remove_pod(self, uid: str) -> None:
        del self.pods[uid]
        self.kept.cache.remove_pod(uid)

    def set_object(self, kind: type[KubeObject], raw: Raw) -> None:
        self._objects[_object_key(kind, raw)] = kind, raw
        self.kept.objects.set(kind.from_dict(copy.deepcopy(raw)))

    def remove_object(self, kind: type[KubeObject], raw: Raw) -> None:
        if self._objects.pop(_object_key(kind, raw), None) is not None:
            self.kept.objects.remove(kind.from_dict(copy.deepcopy(raw)))

    def nominate(self, raw: Raw, node_name: str) -> None:
        self._nominated[raw["metadata"]["uid"]] = raw, node_name
        self.kept.nominator.add(Pod.from_dict(copy.deepcopy(raw)), node_name)

    def clear_nominations(self) -> None:
        for raw, _ in self._nominated.values():
            self.kept.nominator.remove(Pod.from_dict(copy.deepcopy(raw)))
        self._nominated.clear()

    # --- decisions --------------------------------------------------------------------------------

    def decide(self, raw: Raw) -> tuple[Decision, Decision]:
        """The decision of the scheduler that keeps answers, and that of one made for the occasion."""
        pod = Pod.from_dict(copy.deepcopy(raw))
        return self.kept.decide(pod), self._plain().decide(Pod.from_dict(copy.deepcopy(raw)))

    def _plain(self) -> SchedulerCore:
        plain = make_plain(self._loaded, self._registry, self.clock)
        for kind, raw in self._objects.values():
            plain.objects.set(kind.from_dict(copy.deepcopy(raw)))
        for raw in self.nodes.values():
            plain.cache.set_node(Node.from_dict(copy.deepcopy(raw)))
        for raw in self.pods.values():
            plain.cache.add_pod(Pod.from_dict(copy.deepcopy(raw)))
        for raw, node_name in self._nominated.values():
            plain.nominator.add(Pod.from_dict(copy.deepcopy(raw)), node_name)
        return plain


def _object_key(kind: type[KubeObject], raw: Raw) -> tuple[str, str, str]:
    return kind.KIND, raw["metadata"].get("namespace", ""), raw["metadata"]["name"]


def on_node(raw: Raw, node_name: str) -> Raw:
    return {**raw, "spec": {**raw["spec"], "nodeName": node_name}}


# --- a decision in plain values --------------------------------------------------------------------


def described(decision: Decision, node_names: Iterable[str]) -> Mapping[str, Any]:
    """All that a decision says, by node name; what is left to chance (ties) as the set of choices."""
    return {
        "status": (
            decision.status.code.label,
            tuple(map(_without_nomination, decision.status.reasons)),
            decision.status.plugin,
        ),
        "message": _without_nomination(decision.message),
        "has node": bool(decision.node_name),
        "best": _best(decision),
        "counts": (decision.n_feasible, decision.n_evaluated),
        "nominate": decision.nominate if not decision.nominate else "a node",
        "verdicts": _verdicts(decision.record.filter),
        "scores": _scores(decision.scores),
        "diagnosis": _diagnosis(decision, node_names),
        "preemption": _preemption(decision.record.preemption),
    }


def _best(decision: Decision) -> list[str]:
    """The nodes among which the choice is free."""
    if decision.scores is None:
        # One feasible node, or a profile without scorers: then the first one found is taken, whichever that is.
        outcome = decision.record.filter
        if not decision.node_name or outcome is None:
            return [decision.node_name]
        assert isinstance(outcome, FilterOutcome)
        return sorted(outcome.nodes.names[outcome.feasible].tolist())
    totals = decision.scores.totals
    best = sorted(decision.scores.nodes.names[totals == totals.max()].tolist())
    assert decision.node_name in best
    return best


def _plain_status(status: Status | None) -> tuple[str, frozenset[str], str] | None:
    return None if status is None else (status.code.label, frozenset(status.reasons), status.plugin)


def _verdicts(outcome: Any) -> dict[str, Any] | None:
    """Node → why it was rejected, None where it was not."""
    if outcome is None:
        return None
    assert isinstance(outcome, FilterOutcome)
    statuses = {str(name): _plain_status(outcome.status(i)) for i, name in enumerate(outcome.nodes.names)}
    feasible = {str(name) for name in outcome.nodes.names[outcome.feasible]}
    assert feasible == {name for name, status in statuses.items() if status is None}
    return statuses


def _scores(outcome: ScoreOutcome | None) -> dict[str, Any] | None:
    """Node → plugin → raw, normalised and weighted score; and the total."""
    if outcome is None:
        return None
    names = [str(name) for name in outcome.nodes.names]
    by_node: dict[str, Any] = {
        name: {"total": int(total)} for name, total in zip(names, outcome.totals, strict=True)
    }
    for plugin, scores in outcome.by_plugin.items():
        for name, *stages in zip(names, scores.raw, scores.normalized, scores.weighted, strict=True):
            by_node[name][plugin] = tuple(int(stage) for stage in stages)
    return by_node


def _without_nomination(message: str) -> str:
    """Which of the equally good nodes is nominated is left to chance."""
    return re.sub(r"for pod on node \S+,", "for pod on a node,", message)


def _diagnosis(decision: Decision, node_names: Iterable[str]) -> Any:
    diagnosis = decision.diagnosis
    if diagnosis is None:
        return None
    return (
        {name: _plain_status(diagnosis.status(name)) for name in node_names},
        frozenset(diagnosis.unschedulable_plugins),
        frozenset(diagnosis.pending_plugins),
        _without_nomination(diagnosis.post_filter_message),
    )


def _preemption(considered: object) -> Any:
    if considered is None:
        return None
    assert isinstance(considered, PreemptionReport)
    candidates = {
        each.node_name: ([pod.key for pod in each.victims.pods], each.victims.n_violations, each.rank, each.start)
        for each in considered.candidates
    }
    return candidates, {name: _plain_status(status) for name, status in considered.refused.items()}


def arrays_of(decision: Decision) -> list[list[int]]:
    """Every array that a decision hands out, as it is now."""
    found: list[list[int]] = []
    if isinstance(decision.record.filter, FilterOutcome):
        found.append(np.asarray(decision.record.filter.feasible).tolist())
        found += [entry.where.tolist() for entry in decision.record.filter.decided]
    if decision.scores is not None:
        found.append(decision.scores.totals.tolist())
        for scores in decision.scores.by_plugin.values():
            found += [scores.raw.tolist(), scores.normalized.tolist(), scores.weighted.tolist()]
    return found
