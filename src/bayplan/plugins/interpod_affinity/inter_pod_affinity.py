"""InterPodAffinity: affinity and anti-affinity between pods, within topology domains.

Required terms filter (`_affinity_filter`), preferred ones score (`_affinity_score`). Terms apply in both
directions: those of the pod to existing pods, and those of existing pods to the pod.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.config.args import InterPodAffinityArgs
from bayplan.framework import (
    SKIP,
    SKIP_ALIKE,
    Action,
    ClassScores,
    ClusterEvent,
    CycleState,
    Handle,
    Hint,
    IntArray,
    NodeInfo,
    NodeTable,
    Plugin,
    Resource,
    Status,
    TermColumn,
    TermKind,
    Verdict,
)
from bayplan.model import SelectorError
from bayplan.plugins._missing_state import NOT_FOUND, fail_all
from bayplan.plugins.interpod_affinity._affinity_filter import (
    AffinityRejections,
    lacking_required,
    near_anti_affinity_pods,
    near_repelling_pods,
)
from bayplan.plugins.interpod_affinity._affinity_score import (
    affinity_scores,
    group_by_score,
    normalized,
    own_preferences,
    preferences_of_existing_pods,
)
from bayplan.plugins.interpod_affinity._affinity_terms import NamespaceResolver, PodTargets

if TYPE_CHECKING:
    from bayplan.model import AffinityTerm, AffinityTerms, Node, Pod

_SCORES: Final = "PreScoreInterPodAffinity"
_UNREAD: Final = f'error reading "PreFilterInterPodAffinity" from cycleState: {NOT_FOUND}'
_UNREAD_SCORES: Final = f'failed to read "{_SCORES}" from cycleState: {NOT_FOUND}'
#: Replaces the result of PreFilter after a dry run added or removed a pod.
_OUTDATED: Final = AffinityRejections(None, None, None)


class InterPodAffinity(Plugin[InterPodAffinityArgs]):
    name = "InterPodAffinity"

    def __init__(self, args: InterPodAffinityArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        facts = handle.release.facts
        self._namespaces = NamespaceResolver(
            handle.informers, by_selected_names=facts.resolves_namespace_selectors
        )
        #: Whether the anti-affinity terms of a pod match another one.
        self._repels = _match_any if facts.requeues_by_any_anti_affinity_term else _match_all

    def sign(self, pod: Pod) -> Hashable | None:
        try:
            return pod.namespace, frozenset(pod.labels.items()), pod.affinity_terms
        except SelectorError:
            return None

    # --- Filter -----------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        if pod.spec.affinity is None and not nodes.has_affinity_terms:
            return SKIP
        try:
            terms = pod.affinity_terms
        except SelectorError as error:
            return Status.unresolvable(f"parsing pod: {error}")
        repelling = self._namespaces.terms_matching(pod, nodes, TermKind.REQUIRED_ANTI_AFFINITY)
        if not (terms.required or terms.anti_required or repelling):
            return SKIP
        rejected = self._rejected(nodes, pod, self._targets(state, terms), repelling)
        if rejected.existing_anti_affinity is None and not (terms.required or terms.anti_required):
            return SKIP
        state.write(self.name, rejected)
        return None

    def _rejected(
        self, nodes: NodeTable, pod: Pod, targets: PodTargets, repelling: Iterable[TermColumn]
    ) -> AffinityRejections:
        return AffinityRejections(
            lacking_required(nodes, pod, targets),
            near_anti_affinity_pods(nodes, targets.anti_required),
            near_repelling_pods(nodes, repelling),
        )

    def _targets(self, state: CycleState, terms: AffinityTerms) -> PodTargets:
        return state.alike(self.name, lambda: self._namespaces.targets(terms))

    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: Pod, node: NodeInfo) -> None:
        state.write(self.name, _OUTDATED)  # the counts include the pod now: Filter reads them again

    def remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: Pod, node: NodeInfo) -> None:
        state.write(self.name, _OUTDATED)

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        rejected = state.get(self.name, AffinityRejections)
        if rejected is None:
            return fail_all(nodes, _UNREAD)
        if rejected is _OUTDATED:
            whole = self.handle.snapshot.nodes
            repelling = self._namespaces.terms_matching(pod, whole, TermKind.REQUIRED_ANTI_AFFINITY)
            rejected = self._rejected(whole, pod, self._targets(state, pod.affinity_terms), repelling)
            state.write(self.name, rejected)
        return rejected.verdict(nodes)

    # --- Score ------------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        if pod.spec.affinity is None and not nodes.has_affinity_terms:
            return SKIP
        try:
            terms = pod.affinity_terms
        except SelectorError as error:
            return Status.failed(f"failed to parse pod: {error}")
        has_preferences = bool(terms.preferred or terms.anti_preferred)
        if self.args.ignore_preferred_terms_of_existing_pods and not has_preferences:
            return SKIP_ALIKE
        whole = self.handle.snapshot.nodes
        others = preferences_of_existing_pods(whole, pod, self._namespaces, self.args.hard_pod_affinity_weight)
        own = own_preferences(whole, self._targets(state, terms).weighed) if has_preferences else ()
        scores = affinity_scores(whole, chain(own, others))
        if scores is None:
            return SKIP
        state.write(_SCORES, scores)
        return None

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray | ClassScores | Status:
        scores: IntArray | None = state.get(_SCORES, np.ndarray)
        if scores is None:
            return Status.failed(_UNREAD_SCORES)
        return group_by_score(scores if nodes.is_whole else scores.take(nodes.rows))

    def normalize_score(self, state: CycleState, pod: Pod, scores: IntArray, nodes: NodeTable) -> IntArray:
        return normalized(scores)

    # --- queueing hints ---------------------------------------------------------------------------

    def events_to_register(self) -> Sequence[ClusterEvent]:
        pods = Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE
        nodes = Action.ADD | Action.UPDATE_NODE_LABEL
        return (
            ClusterEvent(Resource.POD, pods, self._after_pod_change),
            ClusterEvent(Resource.NODE, nodes, self._after_node_change),
        )

    def _after_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
        if old is not None and new is not None and pod.uid == new.uid:
            return Hint.QUEUE  # its labels changed, so anti-affinity of other pods may no longer match it
        if any(changed is not None and not _is_placed(changed) for changed in (old, new)):
            return Hint.SKIP
        terms = pod.affinity_terms
        attracted = new is not None and _match_all(terms.required, new)
        if old is None:
            return _queue_if(attracted)
        repelled = self._repels(terms.anti_required, old)
        if new is None:
            return _queue_if(repelled or self._repels(old.affinity_terms.anti_required, pod))
        became_wanted = attracted and not _match_all(terms.required, old)
        return _queue_if(became_wanted or (repelled and not self._repels(terms.anti_required, new)))

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node | None) -> Hint:
        terms = pod.affinity_terms
        if new is None:
            return Hint.SKIP
        if old is None:
            # A node without the key can always take a pod with anti-affinity.
            return _queue_if(
                bool(terms.anti_required) or any(t.topology_key in new.labels for t in terms.required)
            )
        moved = {
            each.topology_key
            for each in (*terms.required, *terms.anti_required)
            if old.labels.get(each.topology_key) != new.labels.get(each.topology_key)
        }
        gained = any(each.topology_key in moved and each.topology_key in new.labels for each in terms.required)
        left = any(each.topology_key in moved and each.topology_key in old.labels for each in terms.anti_required)
        return _queue_if(gained or left)


def _is_placed(pod: Pod) -> bool:
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def _match_all(terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    """Whether there are terms and all match *pod*; the labels of its namespace are unknown here."""
    return bool(terms) and all(term.matches(pod.namespace, pod.labels, None) for term in terms)


def _match_any(terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    return any(term.matches(pod.namespace, pod.labels, None) for term in terms)


def _queue_if(condition: bool) -> Hint:
    return Hint.QUEUE if condition else Hint.SKIP
