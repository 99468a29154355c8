"""Node selectors: terms are or-ed, empty ones match nothing, broken ones matter only when no other matches."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
    SelectorError,
    compile_node_selector,
    compile_preferred_terms,
    strict_node_selector,
)


class FakeNode(NamedTuple):
    """All that a selector looks at."""

    name: str = "n1"
    labels: dict[str, str] = {}  # noqa: RUF012


def expression(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    """Short for a requirement."""
    return NodeSelectorRequirement(key=key, operator=operator, values=values)


def by_labels(*expressions: NodeSelectorRequirement) -> NodeSelectorTerm:
    """A term over labels."""
    return NodeSelectorTerm(match_expressions=expressions)


def by_fields(*expressions: NodeSelectorRequirement) -> NodeSelectorTerm:
    """A term over fields."""
    return NodeSelectorTerm(match_fields=expressions)


def matches(node: FakeNode, *terms: NodeSelectorTerm) -> bool:
    """Whether the terms, compiled, match the node."""
    return compile_node_selector(NodeSelector(node_selector_terms=terms)).matches(node)


CORES = FakeNode(labels={"cores": "8", "zone": "a"})


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        pytest.param(expression("zone", "In", "a", "b"), True, id="value is listed"),
        pytest.param(expression("zone", "NotIn", "a"), False, id="value is excluded"),
        pytest.param(expression("rack", "NotIn", "a"), True, id="missing key passes NotIn"),
        pytest.param(expression("zone", "Exists"), True, id="key exists"),
        pytest.param(expression("rack", "DoesNotExist"), True, id="key does not exist"),
        pytest.param(expression("cores", "Gt", "7"), True, id="greater"),
        pytest.param(expression("cores", "Gt", "8"), False, id="equal is not greater"),
        pytest.param(expression("cores", "Lt", "9"), True, id="less"),
        pytest.param(expression("rack", "Gt", "0"), False, id="missing key is not greater"),
        pytest.param(expression("zone", "Lt", "9"), False, id="a word is not less than a number"),
    ],
)
def test_operators(requirement: NodeSelectorRequirement, expected: bool) -> None:
    """Each operator, for a key that is there and one that is not."""
    assert matches(CORES, by_labels(requirement)) == expected


def test_terms_are_alternatives() -> None:
    """One matching term is enough; within a term everything must hold."""
    yes, no = expression("zone", "In", "a"), expression("zone", "In", "b")

    assert matches(CORES, by_labels(no), by_labels(yes))
    assert not matches(CORES, by_labels(no, yes))


def test_empty_terms_match_nothing() -> None:
    """Neither an empty term nor a selector without terms matches any node."""
    assert not matches(CORES, NodeSelectorTerm())
    assert not matches(CORES)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        pytest.param(by_fields(expression("metadata.name", "In", "n1")), True, id="its name"),
        pytest.param(by_fields(expression("metadata.name", "In", "n2")), False, id="another name"),
        pytest.param(by_fields(expression("metadata.name", "NotIn", "n2")), True, id="not another name"),
        pytest.param(by_fields(expression("spec.x", "In", "n1")), False, id="any other field is empty"),
    ],
)
def test_fields(term: NodeSelectorTerm, expected: bool) -> None:
    """matchFields knows the name of a node and nothing else."""
    assert matches(FakeNode("n1"), term) == expected


def test_nameless_node_passes_fields() -> None:
    """A node without a name, as tools make them up, is not held to matchFields."""
    assert matches(FakeNode(""), by_fields(expression("metadata.name", "In", "n1")))


def test_errors_wait_until_needed() -> None:
    """A broken term is reported only for a node that no other term matches."""
    broken, good = by_labels(expression("cores", "Gt", "many")), by_labels(expression("zone", "In", "a"))
    selector = compile_node_selector(NodeSelector(node_selector_terms=(broken, good)))
    text = (
        'nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "many": '
        "for 'Gt', 'Lt' operators, the value must be an integer"
    )

    assert selector.match_or_raise(CORES)
    assert not selector.matches(FakeNode())
    with pytest.raises(SelectorError) as raised:
        selector.match_or_raise(FakeNode())
    assert str(raised.value) == text


def test_all_errors_are_listed_once() -> None:
    """Errors of all terms come in one text, in brackets, each once, with the path of each."""
    term = NodeSelectorTerm(
        match_expressions=(expression("a", "Is", "b"),),
        match_fields=(expression("metadata.name", "Exists"), expression("metadata.name", "In", "a", "b")),
    )
    with pytest.raises(SelectorError) as raised:
        strict_node_selector(NodeSelector(node_selector_terms=(term,)))

    assert str(raised.value) == (
        '[nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Is": supported values: '
        '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", '
        'nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Exists": supported values: '
        '"In", "NotIn", '
        'nodeSelectorTerms[0].matchFields[1].values: Invalid value: ["a","b"]: must have one element]'
    )


def test_preferred_terms_add_weights() -> None:
    """The score of a node is the sum of the weights of the terms that match it."""
    terms = compile_preferred_terms(
        (
            PreferredSchedulingTerm(weight=10, preference=by_labels(expression("zone", "In", "a"))),
            PreferredSchedulingTerm(weight=5, preference=by_labels(expression("cores", "Gt", "4"))),
            PreferredSchedulingTerm(weight=3, preference=by_labels(expression("zone", "In", "b"))),
            PreferredSchedulingTerm(weight=100, preference=NodeSelectorTerm()),
        )
    )

    assert terms.score(CORES) == 15


def test_preferred_terms_of_no_weight_are_not_parsed() -> None:
    """A broken term of weight zero is no error; one with a weight is."""
    broken = by_labels(expression("zone", "Is"))

    assert compile_preferred_terms((PreferredSchedulingTerm(weight=0, preference=broken),)).terms == ()
    with pytest.raises(SelectorError, match=r"\[0\]\.matchExpressions\[0\]\.operator"):
        compile_preferred_terms((PreferredSchedulingTerm(weight=1, preference=broken),))


@given(st.permutations([expression("zone", "In", "a", "b"), expression("cores", "Gt", "2")]))
def test_equal_selectors_are_one_key(expressions: list[NodeSelectorRequirement]) -> None:
    """Selectors that differ in order only are equal, so masks can be kept by selector."""
    reference = by_labels(expression("cores", "Gt", "2"), expression("zone", "In", "b", "a"))
    first = compile_node_selector(NodeSelector(node_selector_terms=(by_labels(*expressions),)))
    second = compile_node_selector(NodeSelector(node_selector_terms=(reference,)))

    assert first == second
    assert hash(first) == hash(second)


def test_bounds_are_parsed() -> None:
    """The bound of Gt and Lt is at hand as a number, for evaluation over columns."""
    selector = compile_node_selector(
        NodeSelector(node_selector_terms=(by_labels(expression("cores", "Gt", "007")),))
    )
    (term,) = selector.terms

    assert [(each.key, each.operator, each.number) for each in term.labels.requirements or ()] == [
        ("cores", "Gt", 7)
    ]


def test_pod_needs_both_labels_and_terms() -> None:
    """nodeSelector and required affinity must both hold; nodeSelector is not checked for validity."""
    spec = {
        "nodeSelector": {"zone": "a"},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "cores", "operator": "Exists"}]}]
                }
            }
        },
    }
    affinity = Pod.from_dict({"spec": spec}).required_node_affinity

    assert affinity.matches(CORES)
    assert not affinity.matches(FakeNode(labels={"zone": "a"}))
    assert not affinity.matches(FakeNode(labels={"cores": "8"}))
    assert Pod().required_node_affinity.is_empty
