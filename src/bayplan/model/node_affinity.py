"""Required node affinity of a pod: its nodeSelector and its required terms, which must both hold."""

from typing import NamedTuple

from bayplan.model.node_selector import HasLabels, LazyErrorNodeSelector, compile_node_selector
from bayplan.model.pod_spec import PodSpec
from bayplan.model.selectors import EVERYTHING, Selector, selector_from_labels


class RequiredNodeAffinity(NamedTuple):
    """Labels that must be there, and terms of which one must match (None: no terms were given)."""

    labels: Selector
    terms: LazyErrorNodeSelector | None

    def matches(self, node: HasLabels) -> bool:
        """Whether the pod may run on the node; terms with errors match nothing."""
        return self.labels.matches(node.labels) and (self.terms is None or self.terms.matches(node))

    def match_or_raise(self, node: HasLabels) -> bool:
        """Like `matches`, but raises SelectorError when no term matches and one has errors."""
        return self.labels.matches(node.labels) and (self.terms is None or self.terms.match_or_raise(node))

    @property
    def is_empty(self) -> bool:
        """Whether any node will do."""
        return self.terms is None and self.labels.is_empty


ANY_NODE = RequiredNodeAffinity(EVERYTHING, None)


def required_node_affinity(spec: PodSpec) -> RequiredNodeAffinity:
    """Compile what a pod requires of its node."""
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required if affinity else None
    if required is None and not spec.node_selector:
        return ANY_NODE
    return RequiredNodeAffinity(
        labels=selector_from_labels(spec.node_selector),
        terms=None if required is None else compile_node_selector(required),
    )
