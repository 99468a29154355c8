"""Topology spread constraints: those of the pod or the default ones, and the nodes whose pods they count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from bayplan.framework import PodQuery
from bayplan.model import IN, NOTHING, Requirement, Selector, compile_selector, find_untolerated
from bayplan.plugins.topology_spread._default_selector import DefaultSelectors

if TYPE_CHECKING:
    from bayplan.config.args import PodTopologySpreadArgs
    from bayplan.framework import BoolArray, Domains, Informers, IntArray, NodeTable
    from bayplan.model import Pod, TopologySpreadConstraint

HARD: Final = "DoNotSchedule"
SOFT: Final = "ScheduleAnyway"
HOSTNAME: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"


class Constraint(NamedTuple):
    """One constraint, with defaults filled in."""

    topology_key: str
    max_skew: int
    selector: Selector = NOTHING
    min_domains: int = 1
    #: Whether only nodes that the pod's node affinity admits count.
    honors_affinity: bool = True
    #: Whether only nodes whose taints the pod tolerates count.
    honors_taints: bool = False
    #: The pods that it counts; none until `of` is called for a pod.
    query: PodQuery = PodQuery(frozenset(), (NOTHING,))

    def of(self, namespace: str) -> Constraint:
        """The constraint of a pod in *namespace*."""
        return self._replace(query=PodQuery(frozenset((namespace,)), (self.selector,), terminating=False))


#: upstream systemDefaultConstraints
SYSTEM_DEFAULTS: Final = (Constraint(HOSTNAME, 3), Constraint(_ZONE, 5))


class _DeclaredConstraint(Protocol):
    """A constraint as a pod or a configuration declares it, without its selector."""

    @property
    def topology_key(self) -> str: ...
    @property
    def max_skew(self) -> int: ...
    @property
    def min_domains(self) -> int | None: ...
    @property
    def node_affinity_policy(self) -> str | None: ...
    @property
    def node_taints_policy(self) -> str | None: ...


class Constraints:
    """The constraints of pods: their own, or the defaults of the profile."""

    def __init__(self, args: PodTopologySpreadArgs, informers: Informers) -> None:
        self.is_system_default = args.defaulting_type == "System"
        self._defaults: dict[str, tuple[Constraint, ...]] = {
            action: tuple(
                _constraint(each, NOTHING)
                for each in args.default_constraints
                if each.when_unsatisfiable == action
            )
            for action in (HARD, SOFT)
        }
        if self.is_system_default:
            self._defaults = {HARD: (), SOFT: SYSTEM_DEFAULTS}
        self.selectors = DefaultSelectors(informers)

    def has_defaults(self, action: str) -> bool:
        """Whether pods without constraints get default ones with that `whenUnsatisfiable`."""
        return bool(self._defaults[action])

    def of(self, pod: Pod, action: str) -> tuple[Constraint, ...]:
        """The pod's constraints with that `whenUnsatisfiable`, else the default ones. Raises SelectorError."""
        if declared := pod.spec.topology_spread_constraints:
            return tuple(
                _constraint(each, _selector(each, pod)).of(pod.namespace)
                for each in declared
                if each.when_unsatisfiable == action
            )
        defaults = self._defaults[action]
        if not defaults or (selector := self.selectors.of(pod)).is_empty:
            return ()
        return tuple(each._replace(selector=selector).of(pod.namespace) for each in defaults)


def _constraint(declared: _DeclaredConstraint, selector: Selector) -> Constraint:
    return Constraint(
        topology_key=declared.topology_key,
        max_skew=declared.max_skew,
        selector=selector,
        min_domains=1 if declared.min_domains is None else declared.min_domains,
        honors_affinity=declared.node_affinity_policy in (None, "Honor"),
        honors_taints=declared.node_taints_policy == "Honor",
    )


def _selector(declared: TopologySpreadConstraint, pod: Pod) -> Selector:
    """The constraint's selector, narrowed to the pod's own values of matchLabelKeys."""
    selector = compile_selector(declared.label_selector)
    labels = pod.labels
    own = [Requirement(key, IN, (labels[key],)) for key in declared.match_label_keys if key in labels]
    return selector.with_requirements(*own) if own else selector


def count_matching(nodes: NodeTable, constraint: Constraint) -> IntArray:
    """How many pods of each node the constraint counts; an empty selector counts none, as in kube-scheduler."""
    if constraint.selector.is_empty:
        return np.zeros(len(nodes), dtype=np.int64)
    return nodes.count_pods(constraint.query)


def count_in_domains(
    nodes: NodeTable, constraint: Constraint, domains: Domains, counted: BoolArray | None
) -> IntArray:
    """The same for each of *domains*, which are all or some of those of the constraint's key; *counted*: the nodes
    whose pods count, None for all."""
    if counted is not None:
        return domains.totals(count_matching(nodes, constraint) * counted)
    own = nodes.domains(constraint.topology_key)
    if domains is not own or constraint.selector.is_empty:
        return domains.totals(count_matching(nodes, constraint))
    return nodes.count_pods_in_domains(constraint.topology_key, constraint.query)


def nodes_with_keys(nodes: NodeTable, constraints: Iterable[Constraint]) -> BoolArray | None:
    """The nodes that have every topology key; None for all of them."""
    missing = [nodes.domains(each.topology_key).missing for each in constraints]
    lacking = [mask for mask in missing if mask is not None]
    return ~np.logical_or.reduce(lacking) if lacking else None


def counted_nodes(
    nodes: NodeTable, pod: Pod, constraint: Constraint, candidates: BoolArray | None
) -> BoolArray | None:
    """The nodes among *candidates* whose pods count under the constraint's two policies; None for all nodes."""
    required = pod.required_node_affinity
    if constraint.honors_affinity and not required.is_empty:
        candidates = _both(candidates, nodes.matches(required.labels))
        if required.terms is not None:
            candidates = _both(candidates, nodes.matches(required.terms))
    if constraint.honors_taints:
        numbers, sets = nodes.taint_sets()
        tolerated = [find_untolerated(taints, pod.spec.tolerations) is None for taints in sets]
        if not all(tolerated):
            candidates = _both(candidates, np.array(tolerated)[numbers])
    return candidates


def _both(first: BoolArray | None, second: BoolArray) -> BoolArray:
    return second if first is None else first & second
