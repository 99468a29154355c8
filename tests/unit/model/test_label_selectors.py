"""Label selectors against a naive evaluation, and their texts of refusal."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    LabelSelectorRequirement,
    Requirement,
    SelectorError,
    compile_selector,
    parse_int64,
    selector_from_labels,
)

keys = st.sampled_from(["app", "tier", "example.com/zone"])
values = st.sampled_from(["", "a", "b", "c"])
labels = st.dictionaries(keys, values)


@st.composite
def expressions(draw: st.DrawFn) -> LabelSelectorRequirement:
    """A valid expression."""
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]))
    some = draw(st.lists(values, min_size=1, max_size=3)) if operator in ("In", "NotIn") else []
    return LabelSelectorRequirement(key=draw(keys), operator=operator, values=tuple(some))


selectors = st.builds(
    LabelSelector, match_labels=labels, match_expressions=st.lists(expressions(), max_size=3).map(tuple)
)


def holds(expression: LabelSelectorRequirement, of: Mapping[str, str]) -> bool:
    """One expression, evaluated as the documentation says it."""
    present, value = expression.key in of, of.get(expression.key)
    return {
        "In": present and value in expression.values,
        "NotIn": not present or value not in expression.values,
        "Exists": present,
        "DoesNotExist": not present,
    }[expression.operator]


@given(selectors, labels)
def test_matches_as_defined(selector: LabelSelector, of: dict[str, str]) -> None:
    """A selector matches when all its labels and expressions hold."""
    expected = all(of.get(key) == value for key, value in selector.match_labels.items()) and all(
        holds(expression, of) for expression in selector.match_expressions
    )

    assert compile_selector(selector).matches(of) == expected


@given(selectors, st.randoms())
def test_order_does_not_matter(selector: LabelSelector, random: object) -> None:
    """Selectors that say the same in another order are equal and hash alike."""
    other = LabelSelector(
        match_labels=dict(reversed(selector.match_labels.items())),
        match_expressions=tuple(reversed(selector.match_expressions)),
    )
    first, second = compile_selector(selector), compile_selector(other)

    assert first == second
    assert hash(first) == hash(second)


def test_labels_are_expressions_with_one_value() -> None:
    """app: a in matchLabels and app In (a) are one selector."""
    expression = LabelSelectorRequirement(key="app", operator="In", values=("a",))
    written = LabelSelector(match_expressions=(expression,))

    assert compile_selector(written) == selector_from_labels({"app": "a"})


def test_no_selector_matches_nothing() -> None:
    """A nil selector selects nothing, an empty one everything."""
    assert compile_selector(None) == NOTHING
    assert not NOTHING.matches({})
    assert compile_selector(LabelSelector()) == EVERYTHING
    assert EVERYTHING.matches({"app": "a"})
    assert NOTHING != EVERYTHING


def test_requirements_can_be_added() -> None:
    """More requirements narrow a selector; nothing stays nothing."""
    more = Requirement("tier", "Exists")

    assert not selector_from_labels({"app": "a"}).with_requirements(more).matches({"app": "a"})
    assert NOTHING.with_requirements(more) is NOTHING


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param(
            LabelSelectorRequirement(key="app", operator="in"),
            '"in" is not a valid label selector operator',
            id="unknown operator",
        ),
        pytest.param(
            LabelSelectorRequirement(key="app", operator="In"),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
            id="In without values",
        ),
        pytest.param(
            LabelSelectorRequirement(key="app", operator="Exists", values=("a",)),
            'values: Invalid value: ["a"]: values set must be empty for exists and does not exist',
            id="Exists with values",
        ),
        pytest.param(
            LabelSelectorRequirement(key="", operator="Exists"),
            'key: Invalid value: "": name part must be non-empty; name part must consist of alphanumeric '
            "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName', "
            " or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            id="empty key",
        ),
        pytest.param(
            LabelSelectorRequirement(key="app", operator="In", values=("a b",)),
            'values[0][app]: Invalid value: "a b": a valid label must be an empty string or consist of '
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            id="value with a space",
        ),
    ],
)
def test_invalid_selectors_are_refused(expression: LabelSelectorRequirement, text: str) -> None:
    """An impossible selector is refused in Kubernetes' words."""
    with pytest.raises(SelectorError) as raised:
        compile_selector(LabelSelector(match_expressions=(expression,)))

    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5),
        ("+5", 5),
        ("-05", -5),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("", None),
        ("-", None),
        ("1_0", None),
        (" 1", None),
        ("٣", None),
    ],
)
def test_integers_are_read_as_in_go(text: str, number: int | None) -> None:
    """strconv.ParseInt takes a sign and ASCII digits within int64, nothing else."""
    assert parse_int64(text) == number


@pytest.mark.parametrize(
    ("requirement", "text"),
    [
        (Requirement("app", "In", ["b", "a"]), "app in (a,b)"),
        (Requirement("app", "In", ["a"]), "app=a"),
        (Requirement("app", "NotIn", ["a"]), "app notin (a)"),
        (Requirement("app", "Exists"), "app"),
        (Requirement("app", "DoesNotExist"), "!app"),
        (Requirement("cores", "Gt", ["4"]), "cores>4"),
    ],
)
def test_requirements_print_like_kubectl(requirement: Requirement, text: str) -> None:
    """A requirement prints as one would write it on a command line."""
    assert str(requirement) == text
