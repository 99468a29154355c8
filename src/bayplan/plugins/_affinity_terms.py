"""Whom affinity terms speak of: pods by labels, in namespaces that are listed or selected by their labels.

Pods on nodes are counted by the name of their namespace alone, so for terms of the pod being scheduled the
namespaceSelector is turned into names first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bayplan.framework import PodQuery
from bayplan.model import Namespace, Selector

if TYPE_CHECKING:
    from bayplan.framework import Informers, NodeTable, TermColumn, TermKind
    from bayplan.model import AffinityTerm, Pod


class Target(NamedTuple):
    """The pods that a term speaks of, and the key whose domains matter."""

    #: None for any namespace.
    namespaces: frozenset[str] | None
    selector: Selector
    topology_key: str

    @property
    def query(self) -> PodQuery:
        return PodQuery(self.namespaces, (self.selector,))

    def matches(self, pod: Pod) -> bool:
        in_namespace = self.namespaces is None or pod.namespace in self.namespaces
        return in_namespace and self.selector.matches(pod.labels)


def query_all(targets: tuple[Target, ...]) -> PodQuery:
    """The pods that every one of *targets* speaks of."""
    namespaces: frozenset[str] | None = None
    for target in targets:
        if target.namespaces is not None:
            namespaces = target.namespaces if namespaces is None else namespaces & target.namespaces
    return PodQuery(namespaces, tuple(target.selector for target in targets))


class Namespaces:
    """Tells whom terms speak of, by what is known of namespaces."""

    def __init__(self, informers: Informers) -> None:
        self._lister = informers.lister(Namespace)
        self._selected: dict[Selector, frozenset[str]] = {}
        informers.on_change(Namespace, self._forget)

    def _forget(self, old: Any, new: Any) -> None:
        self._selected.clear()

    def terms_about(self, pod: Pod, nodes: NodeTable, kind: TermKind) -> Sequence[TermColumn]:
        """The terms of pods on nodes that speak of *pod*."""
        carried = nodes.affinity_terms(kind, pod.labels)
        if not carried:
            return ()
        name, labels, namespace_labels = pod.namespace, pod.labels, self._labels_of(pod.namespace)
        return [each for each in carried if each.term.matches(name, labels, namespace_labels)]

    def _labels_of(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace; none if it is not known."""
        namespace = self._lister.get(name)
        return namespace.labels if namespace is not None else {}

    def target(self, term: AffinityTerm) -> Target:
        """What a term of the pod being scheduled speaks of."""
        return Target(self._names(term), term.selector, term.topology_key)

    def _names(self, term: AffinityTerm) -> frozenset[str] | None:
        selector = term.namespace_selector
        if selector.matches_nothing:
            return term.namespaces
        # kube-scheduler also asks the selector itself, about no labels at all: one that is content with that
        # (empty, or with NotIn and DoesNotExist only) speaks of every namespace.
        if selector.matches({}):
            return None
        names = self._selected.get(selector)
        if names is None:
            chosen = (each.name for each in self._lister.list() if selector.matches(each.labels))
            names = self._selected[selector] = frozenset(chosen)
        return term.namespaces | names
