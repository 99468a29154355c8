"""Compiled pod affinity: which namespaces a term means, and errors by kind of term."""

from typing import Any

import pytest

from bayplan.model import AffinityTerm, Pod, SelectorError


def first_term(**term: Any) -> AffinityTerm:
    """The one required term of a pod in namespace `own`."""
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pod = Pod.from_dict({"metadata": {"namespace": "own"}, "spec": {"affinity": affinity}})
    return pod.affinity_terms.required[0]


@pytest.mark.parametrize(
    ("term", "namespace", "labels", "expected"),
    [
        pytest.param({}, "own", {}, True, id="own by default"),
        pytest.param({}, "other", {}, False, id="no other by default"),
        pytest.param({"namespaces": ["other"]}, "other", {}, True, id="listed"),
        pytest.param({"namespaces": ["other"]}, "own", {}, False, id="own is not listed"),
        pytest.param({"namespaceSelector": {}}, "other", {}, True, id="empty selector means all"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "a"}}}, "other", {"team": "a"}, True, id="selected"
        ),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "a"}}}, "own", {}, False, id="not selected"),
        pytest.param(
            {"namespaces": ["other"], "namespaceSelector": {"matchLabels": {"team": "a"}}},
            "third",
            {"team": "a"},
            True,
            id="listed or selected",
        ),
    ],
)
def test_namespaces_of_a_term(
    term: dict[str, Any], namespace: str, labels: dict[str, str], expected: bool
) -> None:
    """Listed or selected namespaces, or the pod's own if the term says nothing."""
    compiled = first_term(labelSelector={}, **term)

    assert compiled.matches(namespace, {}, labels) == expected


def test_labels_must_match_too() -> None:
    """In the right namespace the labels decide; a term without selector means no pod."""
    term = first_term(labelSelector={"matchLabels": {"app": "a"}})

    assert term.matches("own", {"app": "a"}, None)
    assert not term.matches("own", {"app": "b"}, None)
    assert not first_term().matches("own", {}, None)


def test_terms_are_equal_by_value() -> None:
    """Terms that mean the same are equal and hash alike, so that counts can be kept by term."""
    first, second = (
        first_term(labelSelector={}, topologyKey="zone"),
        first_term(labelSelector={}, topologyKey="zone"),
    )

    assert first == second
    assert hash(first) == hash(second)


def test_preferred_terms_have_weights() -> None:
    """Preferred terms, of both kinds, carry their weight."""
    preferred = [{"weight": 7, "podAffinityTerm": {"labelSelector": {}, "topologyKey": "zone"}}]
    affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    terms = Pod.from_dict({"spec": {"affinity": affinity}}).affinity_terms

    assert [(each.weight, each.term.topology_key) for each in terms.anti_preferred] == [(7, "zone")]
    assert (terms.required, terms.anti_required, terms.preferred) == ((), (), ())


def test_errors_say_which_terms() -> None:
    """An invalid selector is reported with the kind of term it is in."""
    with pytest.raises(SelectorError) as raised:
        first_term(labelSelector={"matchExpressions": [{"key": "a", "operator": "Is"}]})

    assert str(raised.value) == 'requiredAffinityTerms: "Is" is not a valid label selector operator'
