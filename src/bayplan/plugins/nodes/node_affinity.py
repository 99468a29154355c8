"""NodeAffinity: node selectors and node affinity of the pod, and the affinity that a profile adds to every pod."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from bayplan.config.args import NodeAffinityArgs
from bayplan.framework import (
    SKIP,
    Action,
    ClusterEvent,
    Code,
    CycleState,
    Hint,
    IntArray,
    NodeTable,
    Plugin,
    PreFilterResult,
    Reads,
    Resource,
    Status,
    Verdict,
    default_normalize,
    scores_alone,
)
from bayplan.model import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
    PreferredTerms,
    SelectorError,
    compile_preferred_terms,
    strict_node_selector,
)

if TYPE_CHECKING:
    from bayplan.config.args.affinity import AddedSchedulingTerm
    from bayplan.config.args.node_selector import (
        AddedNodeSelector,
        AddedNodeSelectorRequirement,
        AddedNodeSelectorTerm,
    )
    from bayplan.framework import BoolArray, Handle
    from bayplan.model import LazyErrorNodeSelector

REASON_POD = "node(s) didn't match Pod's node affinity/selector"
REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT = "pod affinity terms conflict"


class NodeAffinity(Plugin[NodeAffinityArgs]):
    name = "NodeAffinity"
    reads = Reads.NODE

    def __init__(self, args: NodeAffinityArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        #: What the profile adds to every pod's affinity; None where it adds nothing.
        self._added_required: LazyErrorNodeSelector | None = None
        self._added_preferred: PreferredTerms | None = None
        if (added := args.added_affinity) is not None:
            required = added.required_during_scheduling_ignored_during_execution
            if required is not None:
                self._added_required = strict_node_selector(_selector(required))
            if preferred := added.preferred_during_scheduling_ignored_during_execution:
                self._added_preferred = compile_preferred_terms(tuple(map(_preferred_term, preferred)))

    # --- Filter -----------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> PreFilterResult | Status | None:
        spec = pod.spec
        terms = _required_terms(pod) if spec.affinity is not None else None
        if terms is None and self._added_required is None and not spec.node_selector:
            return SKIP
        names = _named_nodes(terms or ())
        if names is None:
            return None
        return PreFilterResult(names) if names else Status.unresolvable(REASON_CONFLICT)

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        """The profile's added affinity comes first: a node that fails it is not checked against the pod's."""
        verdict = nodes.accept_all()
        matching = _matching(pod, nodes)
        if self._added_required is not None:
            allowed = nodes.matches(self._added_required)
            verdict = verdict.reject(~allowed, REASON_ENFORCED, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
            matching = matching | ~allowed
        if matching.all():
            return verdict
        return verdict.reject(~matching, REASON_POD, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)

    # --- Score ------------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        if pod.spec.affinity is None or not _prefers(pod):
            return SKIP if self._added_preferred is None else None
        try:
            _ = pod.preferred_node_affinity
        except SelectorError as error:
            return Status.failed(error)
        return None

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        """The sum of the weights of the preferred terms that match, the pod's and the profile's."""
        scores = np.zeros(len(nodes), dtype=np.int64)
        for preferred in (self._added_preferred, pod.preferred_node_affinity):
            for weight, term in preferred.terms if preferred is not None else ():
                scores += weight * nodes.matches(term)
        return scores

    @scores_alone
    def normalize_score(self, state: CycleState, pod: Pod, scores: IntArray, nodes: NodeTable) -> IntArray:
        return default_normalize(scores)

    # --- signature and events ---------------------------------------------------------------------

    def sign(self, pod: Pod) -> Hashable:
        try:
            return pod.required_node_affinity, pod.preferred_node_affinity
        except SelectorError:
            return None

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, self._after_node_change),)

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> Hint:
        if self._added_required is not None and not self._added_required.matches(new):
            return Hint.SKIP
        required = pod.required_node_affinity
        if not required.match_or_raise(new):
            return Hint.SKIP
        return Hint.SKIP if old is not None and required.match_or_raise(old) else Hint.QUEUE


def _required_terms(pod: Pod) -> tuple[NodeSelectorTerm, ...] | None:
    """The pod's required terms; None if it has no required affinity at all."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None or affinity.node_affinity.required is None:
        return None
    return affinity.node_affinity.required.node_selector_terms


def _prefers(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    return affinity is not None and affinity.node_affinity is not None and bool(affinity.node_affinity.preferred)


def _named_nodes(terms: tuple[NodeSelectorTerm, ...]) -> frozenset[str] | None:
    """The nodes that the terms name; None if some term does not restrict the name, or there are no terms."""
    if not terms:
        return None
    named: set[str] = set()
    for term in terms:
        wanted = [
            frozenset(requirement.values)
            for requirement in term.match_fields
            if requirement.key == "metadata.name" and requirement.operator == "In"
        ]
        if not wanted:
            return None
        named |= frozenset.intersection(*wanted)
    return frozenset(named)


def _matching(pod: Pod, nodes: NodeTable) -> BoolArray:
    """The nodes that match the pod's own selector and terms; invalid terms match none."""
    labels, terms = pod.required_node_affinity
    if terms is None:
        return nodes.matches(labels)
    return nodes.matches(terms) if labels.is_empty else nodes.matches(labels) & nodes.matches(terms)


# --- the profile's added affinity, converted from config types to model types --------------------------------


def _selector(selector: AddedNodeSelector) -> NodeSelector:
    return NodeSelector(node_selector_terms=tuple(map(_term, selector.node_selector_terms or ())))


def _preferred_term(term: AddedSchedulingTerm) -> PreferredSchedulingTerm:
    return PreferredSchedulingTerm(weight=term.weight, preference=_term(term.preference))


def _term(term: AddedNodeSelectorTerm) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        match_expressions=tuple(map(_requirement, term.match_expressions)),
        match_fields=tuple(map(_requirement, term.match_fields)),
    )


def _requirement(requirement: AddedNodeSelectorRequirement) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=requirement.key, operator=requirement.operator, values=requirement.values)
