"""Selectors over nodes, compiled: nodeSelector, required and preferred node affinity, affinity of volumes.

In: selectors as objects have them. Out: compiled selectors. Terms are combined with OR, the requirements of a
term with AND; a term without requirements matches nothing. The parsed requirements are public, so that a whole
table of nodes can be evaluated at once, and everything is hashable, so that masks can be cached by selector. A
selector with an invalid term still works when a valid term matches.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from bayplan.model.label_selectors import (
    DOES_NOT_EXIST,
    EVERYTHING,
    EXISTS,
    GT,
    IN,
    LT,
    NOT_IN,
    Requirement,
    Selector,
    SelectorError,
    checked_requirement,
    selector_from_labels,
)
from bayplan.model.label_validation import invalid, not_supported
from bayplan.model.pod_fields import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
)

_OPERATORS: Final = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT)
_FIELD_OPERATORS: Final = (IN, NOT_IN)
#: The only field of a node that matchFields can speak of; any other key reads as the empty string.
NAME_FIELD: Final = "metadata.name"


class HasLabels(Protocol):
    """What a node selector looks at: a node, or anything with a name and labels."""

    @property
    def name(self) -> str:
        """The name of the node."""
        ...

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the node."""
        ...


class NodeTerm:
    """One parsed term: requirements on labels and on fields, or the errors that make it match nothing."""

    __slots__ = ("_hash", "errors", "fields", "labels")

    def __init__(
        self, labels: Selector, fields: frozenset[Requirement] = frozenset(), errors: tuple[str, ...] = ()
    ) -> None:
        self.labels = labels
        self.fields = fields
        self.errors = errors
        self._hash = hash((labels, fields, errors))

    def matches(self, node: HasLabels) -> bool:
        """Whether the node meets all requirements; a term with errors matches nothing."""
        if self.errors or not self.labels.matches(node.labels):
            return False
        return self.matches_name(node.name)

    def matches_name(self, name: str) -> bool:
        """Whether a node of that name meets the requirements on fields; a nameless node meets any."""
        if not name:
            return True
        return all(_field_matches(requirement, name) for requirement in self.fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NodeTerm):
            return NotImplemented
        return (self.labels, self.fields, self.errors) == (other.labels, other.fields, other.errors)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"NodeTerm({str(self.labels)!r}, fields={sorted(map(str, self.fields))}, errors={self.errors})"


class LazyErrorNodeSelector:
    """Terms of which one must match. `errors` matters only for a node that no term matches."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: tuple[NodeTerm, ...]) -> None:
        self.terms = terms
        self._hash = hash(terms)

    def matches(self, node: HasLabels) -> bool:
        """Whether one of the terms matches; terms with errors do not."""
        return any(term.matches(node) for term in self.terms)

    def match_or_raise(self, node: HasLabels) -> bool:
        """Like `matches`, but raises SelectorError when nothing matches and a term has errors."""
        if self.matches(node):
            return True
        if self.errors:
            raise SelectorError(*self.errors)
        return False

    @property
    def errors(self) -> tuple[str, ...]:
        """The errors of all terms."""
        return tuple(error for term in self.terms for error in term.errors)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LazyErrorNodeSelector):
            return NotImplemented
        return self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.terms!r})"


class PreferredTerms:
    """Weighted terms: the score of a node is the sum of the weights of the matching terms."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: tuple[tuple[int, NodeTerm], ...]) -> None:
        self.terms = terms
        self._hash = hash(terms)

    def score(self, node: HasLabels) -> int:
        """The sum of the weights of the terms that match the node."""
        return sum(weight for weight, term in self.terms if term.matches(node))

    def __eq__(self, other: object) -> bool:
        return self.terms == other.terms if isinstance(other, PreferredTerms) else NotImplemented

    def __hash__(self) -> int:
        return self._hash


@lru_cache(maxsize=4096)
def compile_node_selector(selector: NodeSelector, path: str = "") -> LazyErrorNodeSelector:
    """Compile a node selector; errors are stored in its terms. Empty terms match nothing and are left out."""
    at = f"{path}.nodeSelectorTerms" if path else "nodeSelectorTerms"
    terms = enumerate(selector.node_selector_terms)
    return LazyErrorNodeSelector(tuple(_term(term, f"{at}[{i}]") for i, term in terms if _has_requirements(term)))


def strict_node_selector(selector: NodeSelector, path: str = "") -> LazyErrorNodeSelector:
    """Compile a node selector of which every term must be valid. Raises SelectorError."""
    compiled = compile_node_selector(selector, path)
    if compiled.errors:
        raise SelectorError(*compiled.errors)
    return compiled


@lru_cache(maxsize=4096)
def compile_preferred_terms(terms: tuple[PreferredSchedulingTerm, ...], path: str = "") -> PreferredTerms:
    """Compile preferred terms; empty ones and those of weight zero are skipped. Raises SelectorError."""
    parsed = [
        (term.weight, _term(term.preference, f"{path}[{i}]"))
        for i, term in enumerate(terms)
        if term.weight != 0 and _has_requirements(term.preference)
    ]
    if errors := [error for _, term in parsed for error in term.errors]:
        raise SelectorError(*errors)
    return PreferredTerms(tuple(parsed))


# --- a pod's required node affinity -----------------------------------------------------------------------


class RequiredNodeAffinity(NamedTuple):
    """Required labels, and terms of which one must match (None: no terms were given)."""

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
        """Whether any node matches."""
        return self.terms is None and self.labels.is_empty


ANY_NODE: Final = RequiredNodeAffinity(EVERYTHING, None)


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


# --- parsing ----------------------------------------------------------------------------------------------


def _has_requirements(term: NodeSelectorTerm) -> bool:
    return bool(term.match_expressions or term.match_fields)


def _term(term: NodeSelectorTerm, path: str) -> NodeTerm:
    errors: list[str] = []
    labels = _label_requirements(term.match_expressions, f"{path}.matchExpressions", errors)
    fields = _field_requirements(term.match_fields, f"{path}.matchFields", errors)
    return NodeTerm(Selector(labels), fields, tuple(errors))


def _label_requirements(
    expressions: tuple[NodeSelectorRequirement, ...], path: str, errors: list[str]
) -> list[Requirement]:
    requirements = []
    for i, expression in enumerate(expressions):
        at = f"{path}[{i}]"
        if expression.operator not in _OPERATORS:
            errors.append(not_supported(f"{at}.operator", expression.operator, _OPERATORS))
            continue
        try:
            requirements.append(checked_requirement(expression.key, expression.operator, expression.values, at))
        except SelectorError as error:
            errors.extend(error.errors)
    return requirements


def _field_requirements(
    expressions: tuple[NodeSelectorRequirement, ...], path: str, errors: list[str]
) -> frozenset[Requirement]:
    requirements = set()
    for i, expression in enumerate(expressions):
        if expression.operator not in _FIELD_OPERATORS:
            errors.append(not_supported(f"{path}[{i}].operator", expression.operator, _FIELD_OPERATORS))
        elif len(expression.values) != 1:
            errors.append(invalid(f"{path}[{i}].values", expression.values, "must have one element"))
        else:
            requirements.add(Requirement(expression.key, expression.operator, expression.values))
    return frozenset(requirements)


def _field_matches(requirement: Requirement, name: str) -> bool:
    value = name if requirement.key == NAME_FIELD else ""
    return (value in requirement.values) == (requirement.operator == IN)
