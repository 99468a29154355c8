"""Which pods affinity terms match: by labels, in namespaces that are listed or selected by their labels.

Existing pods are counted by the name of their namespace, so the namespaceSelector in a term of the pod being
scheduled is resolved to names first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bayplan.framework import PodQuery
from bayplan.model import Namespace, Selector

if TYPE_CHECKING:
    from bayplan.framework import Informers, NodeTable, TermColumn, TermKind
    from bayplan.model import AffinityTerm, AffinityTerms, Pod


class TermTarget(NamedTuple):
    """The pods that a term matches, and its topology key."""

    topology_key: str
    query: PodQuery

    def matches(self, pod: Pod) -> bool:
        namespaces, selectors, _ = self.query
        in_namespace = namespaces is None or pod.namespace in namespaces
        return in_namespace and all(selector.matches(pod.labels) for selector in selectors)


class PodTargets(NamedTuple):
    """The pods that the terms of a pod match."""

    required: tuple[TermTarget, ...]
    #: The pods that match every required term.
    all_required: PodQuery
    anti_required: tuple[TermTarget, ...]
    #: Preferred terms with their weights; those of anti-affinity are negative.
    weighed: tuple[tuple[int, TermTarget], ...]


def query_all(targets: tuple[TermTarget, ...]) -> PodQuery:
    """The pods that match every one of *targets*."""
    namespaces: frozenset[str] | None = None
    for target in targets:
        if (own := target.query.namespaces) is not None:
            namespaces = own if namespaces is None else namespaces & own
    return PodQuery(namespaces, tuple(selector for target in targets for selector in target.query.selectors))


class NamespaceResolver:
    """Matches terms with the help of the labels of namespaces."""

    def __init__(self, informers: Informers, *, by_selected_names: bool) -> None:
        """*by_selected_names*: a selector matches the namespaces that it selects, and no others."""
        self._by_selected_names = by_selected_names
        self._lister = informers.lister(Namespace)
        self._selected: dict[Selector, frozenset[str]] = {}
        informers.on_change(Namespace, self._forget)

    def _forget(self, old: Any, new: Any) -> None:
        self._selected.clear()

    def terms_matching(self, pod: Pod, nodes: NodeTable, kind: TermKind) -> Sequence[TermColumn]:
        """The terms of existing pods that match *pod*."""
        carried = nodes.affinity_terms(kind, pod.labels)
        if not carried:
            return ()
        name, labels, namespace_labels = pod.namespace, pod.labels, self._labels_of(pod.namespace)
        return [each for each in carried if each.term.matches(name, labels, namespace_labels)]

    def _labels_of(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace; empty if it is unknown."""
        namespace = self._lister.get(name)
        return namespace.labels if namespace is not None else {}

    def targets(self, terms: AffinityTerms) -> PodTargets:
        """The pods that the terms of the pod being scheduled match."""
        required = tuple([self._target(term) for term in terms.required])
        return PodTargets(
            required,
            query_all(required),
            tuple([self._target(term) for term in terms.anti_required]),
            (
                *((weight, self._target(term)) for weight, term in terms.preferred),
                *((-weight, self._target(term)) for weight, term in terms.anti_preferred),
            ),
        )

    def _target(self, term: AffinityTerm) -> TermTarget:
        return TermTarget(term.topology_key, PodQuery(self._names(term), (term.selector,)))

    def _names(self, term: AffinityTerm) -> frozenset[str] | None:
        selector = term.namespace_selector
        if selector.matches_nothing:
            return term.namespaces
        # kube-scheduler may evaluate the selector on empty labels as well: one that matches them (with NotIn and
        # DoesNotExist only) then matches every namespace, as an empty one always does.
        if selector.is_empty or (not self._by_selected_names and selector.matches({})):
            return None
        names = self._selected.get(selector)
        if names is None:
            chosen = (each.name for each in self._lister.list() if selector.matches(each.labels))
            names = self._selected[selector] = frozenset(chosen)
        return term.namespaces | names
