"""Pod affinity, compiled: terms that match other pods.

matchLabelKeys and mismatchLabelKeys need no handling here: the API server has merged them into the selector.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bayplan.model.label_selectors import Selector, SelectorError, compile_selector
from bayplan.model.pod_fields import Affinity, PodAffinityTerm, WeightedPodAffinityTerm


class AffinityTerm(NamedTuple):
    """Pods by labels, in the namespaces listed or in those whose labels are selected, per topology domain."""

    selector: Selector
    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: Selector

    def matches(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str] | None
    ) -> bool:
        """Whether a pod there with those labels matches; unknown namespace labels (None) count as no labels."""
        if namespace in self.namespaces or self.namespace_selector.matches(namespace_labels or {}):
            return self.selector.matches(labels)
        return False


class WeightedAffinityTerm(NamedTuple):
    """A term and the weight it adds to a score."""

    weight: int
    term: AffinityTerm


class AffinityTerms(NamedTuple):
    """All terms of a pod; without affinity, all are empty."""

    required: tuple[AffinityTerm, ...] = ()
    anti_required: tuple[AffinityTerm, ...] = ()
    preferred: tuple[WeightedAffinityTerm, ...] = ()
    anti_preferred: tuple[WeightedAffinityTerm, ...] = ()


NO_TERMS = AffinityTerms()


def compile_affinity(affinity: Affinity | None, namespace: str) -> AffinityTerms:
    """Compile the terms of a pod in `namespace`. Raises SelectorError, with the kind of term each error is in."""
    terms, errors = compile_readable_affinity(affinity, namespace)
    if errors:
        raise SelectorError(*errors)
    return terms


def compile_readable_affinity(affinity: Affinity | None, namespace: str) -> tuple[AffinityTerms, tuple[str, ...]]:
    """The valid terms of a pod, and the errors of the others; a kind with an error has no terms."""
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS, ()
    errors: list[str] = []
    pod, anti = affinity.pod_affinity, affinity.pod_anti_affinity
    terms = AffinityTerms(
        required=_compiled(pod.required if pod else (), namespace, "requiredAffinityTerms", errors),
        anti_required=_compiled(anti.required if anti else (), namespace, "requiredAntiAffinityTerms", errors),
        preferred=_weighted(pod.preferred if pod else (), namespace, "preferredAffinityTerms", errors),
        anti_preferred=_weighted(anti.preferred if anti else (), namespace, "preferredAntiAffinityTerms", errors),
    )
    return terms, tuple(errors)


def compile_term(term: PodAffinityTerm, namespace: str) -> AffinityTerm:
    """Compile one term; a term that selects no namespaces means the pod's own. Raises SelectorError."""
    own = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        selector=compile_selector(term.label_selector),
        topology_key=term.topology_key,
        namespaces=frozenset((namespace,) if own else term.namespaces),
        namespace_selector=compile_selector(term.namespace_selector),
    )


def _compiled(
    terms: Iterable[PodAffinityTerm], namespace: str, kind: str, errors: list[str]
) -> tuple[AffinityTerm, ...]:
    try:
        return tuple(compile_term(term, namespace) for term in terms)
    except SelectorError as error:
        errors.append(f"{kind}: {error}")
        return ()


def _weighted(
    terms: tuple[WeightedPodAffinityTerm, ...], namespace: str, kind: str, errors: list[str]
) -> tuple[WeightedAffinityTerm, ...]:
    compiled = _compiled((each.pod_affinity_term for each in terms), namespace, kind, errors)
    return tuple(WeightedAffinityTerm(each.weight, term) for each, term in zip(terms, compiled, strict=False))
