"""Serves plugins as an extender: the same classes that run in a profile, called over HTTP.

`filter` is PreFilter and Filter; `prioritize` is PreFilter, PreScore, Score and NormalizeScore; `preempt` is
PostFilter or, without one, whether Filter accepts the pod once the victims are gone; `bind` is Bind. Each request
is a separate attempt: state that PreFilter writes does not carry over to the next one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bayplan.extender.app import ExtenderApp
from bayplan.extender.scaling import scaled
from bayplan.extender.wire import (
    ExtenderArgs,
    ExtenderBindingArgs,
    ExtenderBindingResult,
    ExtenderFilterResult,
    ExtenderPreemptionArgs,
    ExtenderPreemptionResult,
    HostPriority,
    MetaPod,
    MetaVictims,
    NodeList,
)
from bayplan.framework import (
    MAX_SCORE,
    BindingRunner,
    BoolArray,
    Code,
    CycleState,
    Diagnosis,
    Evaluation,
    FilterOutcome,
    NodeTable,
    PreemptionReport,
    Runner,
    Status,
)
from bayplan.framework.extenders import MAX_EXTENDER_SCORE

if TYPE_CHECKING:
    from bayplan.cache import Cache
    from bayplan.framework import PreFilterOutcome, ProfilePlugins
    from bayplan.model import Pod

#: For a node that the scheduler has and the extender's cache does not have (yet).
UNKNOWN_NODE = "node(s) not known to the extender"


class HostedProfile(Protocol):
    """The profile whose plugins are served."""

    @property
    def plugins(self) -> ProfilePlugins: ...

    @property
    def runner(self) -> Runner: ...

    @property
    def binding(self) -> BindingRunner: ...

    @property
    def evaluation(self) -> Evaluation: ...


class PluginFailedError(Exception):
    """A plugin failed; the message names it."""


class PluginHost:
    """Handles requests with the plugins of one profile, over nodes of a cache."""

    def __init__(
        self,
        profile: HostedProfile,
        cache: Cache,
        *,
        find_pod: Callable[[ExtenderBindingArgs], Awaitable[Pod]] | None = None,
        top_score: int = MAX_EXTENDER_SCORE,
    ) -> None:
        """*find_pod* returns the pod to bind; None if there is no cluster to bind in."""
        self._profile = profile
        self._runner = profile.runner
        self._cache = cache
        self._find_pod = find_pod
        self._top_score = top_score
        self._highest = MAX_SCORE * sum(profile.plugins.weights.values())

    def app(self) -> ExtenderApp:
        """An app with the verbs that the plugins implement."""
        app = ExtenderApp()
        if self._runner.has("filter") or self._runner.has("preFilter"):
            app.filter(self.filter)
        if self._runner.has("score"):
            app.prioritize(self.prioritize)
        if self._runner.has("postFilter") or (self._runner.has("filter") and self._find_pod is not None):
            app.preempt(self.preempt)
        if self._profile.plugins.on("bind") and self._find_pod is not None:
            app.bind(self.bind)
        return app

    # --- filter -----------------------------------------------------------------------------------

    def filter(self, args: ExtenderArgs) -> ExtenderFilterResult:
        pod = _pod(args.Pod)
        nodes, unknown = self._nodes(args)
        state, pre_filtered = self._pre_filter(pod)
        failed, unresolvable = dict.fromkeys(unknown, UNKNOWN_NODE), dict[str, str]()
        if pre_filtered.status.is_rejection:
            by_code = failed if pre_filtered.status.code is Code.UNSCHEDULABLE else unresolvable
            by_code.update(dict.fromkeys(map(str, nodes.names), pre_filtered.status.message))
            return self._filter_result(args, (), failed, unresolvable)
        outcome = self._runner.filter(state, pod, nodes)
        if outcome.error is not None:
            raise PluginFailedError(outcome.error.message)
        left = self._partition(outcome, pre_filtered, failed, unresolvable)
        return self._filter_result(args, left, failed, unresolvable)

    @staticmethod
    def _partition(
        outcome: FilterOutcome,
        pre_filtered: PreFilterOutcome,
        failed: dict[str, str],
        unresolvable: dict[str, str],
    ) -> Sequence[str]:
        """The names of the nodes left; reasons of rejected nodes are added to the results."""
        names = outcome.nodes.names
        for reason, code, where in _reasons(outcome):
            (failed if code is Code.UNSCHEDULABLE else unresolvable).update(dict.fromkeys(names[where], reason))
        left: list[str] = names[outcome.feasible].tolist()
        allowed = pre_filtered.result.node_names
        if allowed is not None:
            reason = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(pre_filtered.narrowed_by))}]"
            unresolvable.update(dict.fromkeys((name for name in left if name not in allowed), reason))
            left = [name for name in left if name in allowed]
        return left

    @staticmethod
    def _filter_result(
        args: ExtenderArgs, left: Sequence[str], failed: Mapping[str, str], unresolvable: Mapping[str, str]
    ) -> ExtenderFilterResult:
        """In the form of the request: names for names, nodes for nodes."""
        names: tuple[str, ...] | None = tuple(left)
        nodes: NodeList | None = None
        if args.NodeNames is None:
            kept = frozenset(left)
            items = args.Nodes.items if args.Nodes is not None else ()
            names, nodes = None, NodeList(items=tuple(node for node in items if node.name in kept))
        return ExtenderFilterResult(
            NodeNames=names,
            Nodes=nodes,
            FailedNodes=dict(failed),
            FailedAndUnresolvableNodes=dict(unresolvable),
        )

    # --- prioritize -------------------------------------------------------------------------------

    def prioritize(self, args: ExtenderArgs) -> Sequence[HostPriority]:
        pod = _pod(args.Pod)
        nodes, _ = self._nodes(args)
        state, _ = self._pre_filter(pod)
        status = self._runner.pre_score(state, pod, nodes)
        if not status.is_success:
            raise PluginFailedError(status.message)
        outcome = self._runner.score(state, pod, nodes)
        if isinstance(outcome, Status):
            raise PluginFailedError(outcome.message)
        scores = scaled(outcome.totals, highest=self._highest, top=self._top_score).tolist()
        names = nodes.names.tolist()
        return [HostPriority(Host=name, Score=score) for name, score in zip(names, scores, strict=True)]

    # --- preempt ----------------------------------------------------------------------------------

    def preempt(self, args: ExtenderPreemptionArgs) -> ExtenderPreemptionResult:
        pod = _pod(args.Pod)
        offered = _offered(args)
        state, pre_filtered = self._pre_filter(pod)
        if pre_filtered.status.is_rejection:
            return ExtenderPreemptionResult()
        if self._runner.has("postFilter"):
            kept = self._by_post_filter(state, pod, offered)
        else:
            kept = {name: each for name, each in offered.items() if self._fits_without(state, pod, name, each)}
        return ExtenderPreemptionResult(NodeNameToMetaVictims=dict(kept))

    def _by_post_filter(
        self, state: CycleState, pod: Pod, offered: Mapping[str, MetaVictims]
    ) -> Mapping[str, MetaVictims]:
        """The candidates that PostFilter chooses; its victims replace the scheduler's."""
        diagnosis = Diagnosis(self._cache.snapshot().nodes)
        for name in offered:
            diagnosis.set_status(name, Status.unschedulable("offered for preemption"))
        result = self._runner.post_filter(state, pod, diagnosis)
        if result.status.code is Code.ERROR:
            raise PluginFailedError(result.status.message)
        if not result.status.is_success:
            return {}
        if isinstance(result.detail, PreemptionReport):
            found = {
                each.node_name: (each.victims.pods, each.victims.n_violations) for each in result.detail.candidates
            }
        else:
            found = {result.nominated_node_name or "": (result.victims, 0)}
        return {
            name: MetaVictims(Pods=tuple(MetaPod(UID=each.uid) for each in pods), NumPDBViolations=n_violations)
            for name, (pods, n_violations) in found.items()
            if name in offered
        }

    def _fits_without(self, state: CycleState, pod: Pod, node_name: str, victims: MetaVictims) -> bool:
        """Whether the filters accept the node once the victims are gone; an unknown node is accepted."""
        node = self._cache.snapshot().node(node_name)
        if node is None:
            return True
        uids = {each.UID for each in victims.Pods if each is not None}
        evaluation, scratch = self._profile.evaluation, state.clone()
        with evaluation.what_if():
            for other in [each for each in node.pods if each.uid in uids]:
                if not evaluation.move_pod(scratch, pod, other, node_name, add=False).is_success:
                    return False
            return evaluation.filter_node(scratch, pod, node_name).is_success

    # --- bind -------------------------------------------------------------------------------------

    async def bind(self, args: ExtenderBindingArgs) -> ExtenderBindingResult:
        if self._find_pod is None:
            return ExtenderBindingResult(Error="this extender has no cluster to bind in; give it a kubeconfig")
        pod = await self._find_pod(args)
        status = await self._profile.binding.bind(CycleState(), pod, args.Node)
        if status.is_skip:
            return ExtenderBindingResult(Error="no plugin of this extender binds the pod")
        return ExtenderBindingResult(Error="" if status.is_success else status.message)

    # ----------------------------------------------------------------------------------------------

    def _pre_filter(self, pod: Pod) -> tuple[CycleState, PreFilterOutcome]:
        state = CycleState()
        pre_filtered = self._runner.pre_filter(state, pod, self._cache.snapshot().nodes)
        if not (pre_filtered.status.is_success or pre_filtered.status.is_rejection):
            raise PluginFailedError(pre_filtered.status.message)
        return state, pre_filtered

    def _nodes(self, args: ExtenderArgs) -> tuple[NodeTable, Iterable[str]]:
        """The nodes of a request as a table, and the unknown names."""
        if args.NodeNames is None and args.Nodes is not None:
            for node in args.Nodes.items:
                # The same object as before if the bytes are the same.
                if self._cache.node(node.name) is not node:
                    self._cache.set_node(node)
            names: Sequence[str] = [node.name for node in args.Nodes.items]
        else:
            names = args.NodeNames or ()
        snapshot = self._cache.snapshot()
        rows = snapshot.rows(names)
        known = [row for row in rows if row is not None]
        unknown = [name for name, row in zip(names, rows, strict=True) if row is None] if None in rows else []
        return snapshot.nodes.select(np.array(known, dtype=np.int64)), unknown


def _reasons(outcome: FilterOutcome) -> Iterator[tuple[str, Code, BoolArray | list[int]]]:
    """(reason, code, nodes): many nodes at once where they share one reason, else node by node."""
    for entry in outcome.decided:
        rejections = entry.verdict.rejections
        if len(rejections) == 1 and not entry.verdict.statuses:
            yield rejections[0].reason, rejections[0].code, entry.where
            continue
        for position in np.flatnonzero(entry.where).tolist():
            status = entry.status(position)
            yield ", ".join(status.reasons), status.code, [position]


def _pod(pod: Pod | None) -> Pod:
    if pod is None:
        raise ValueError("the request has no Pod")
    return pod


def _offered(args: ExtenderPreemptionArgs) -> Mapping[str, MetaVictims]:
    if args.NodeNameToMetaVictims is not None:
        return args.NodeNameToMetaVictims
    return {
        name: MetaVictims(
            Pods=tuple(MetaPod(UID=pod.uid) for pod in victims.Pods), NumPDBViolations=victims.NumPDBViolations
        )
        for name, victims in (args.NodeNameToVictims or {}).items()
    }
