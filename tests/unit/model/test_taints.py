"""Which tolerations tolerate which taints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model import PREFER_NO_SCHEDULE, Taint, Toleration, find_untolerated, tolerates

GPU = Taint(key="gpu", value="yes", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param(Toleration(operator="Exists"), True, id="everything is tolerated"),
        pytest.param(Toleration(key="gpu", operator="Exists"), True, id="key exists"),
        pytest.param(Toleration(key="disk", operator="Exists"), False, id="another key"),
        pytest.param(Toleration(key="gpu", value="yes"), True, id="no operator means Equal"),
        pytest.param(Toleration(key="gpu", operator="Equal", value="no"), False, id="another value"),
        pytest.param(Toleration(operator="Equal", value="yes"), True, id="no key, equal value"),
        pytest.param(Toleration(operator="Exists", effect="NoExecute"), False, id="another effect"),
        pytest.param(Toleration(operator="Exists", effect="NoSchedule"), True, id="its effect"),
        pytest.param(Toleration(key="gpu", operator="Is", value="yes"), False, id="unknown operator"),
    ],
)
def test_toleration_rules(toleration: Toleration, expected: bool) -> None:
    """Effect and key match or are empty; Equal compares values, Exists does not."""
    assert tolerates(toleration, GPU) == expected


@pytest.mark.parametrize(
    ("operator", "wanted", "actual", "expected"),
    [
        pytest.param("Gt", "5", "6", True, id="taint is above"),
        pytest.param("Gt", "5", "5", False, id="equal is not above"),
        pytest.param("Lt", "5", "-6", True, id="taint is below"),
        pytest.param("Lt", "5", "05", False, id="leading zero never compares"),
        pytest.param("Gt", "-0", "1", False, id="minus zero never compares"),
        pytest.param("Gt", "+1", "5", False, id="plus sign never compares"),
        pytest.param("Gt", "", "5", False, id="nothing never compares"),
        pytest.param("Lt", "9223372036854775808", "5", False, id="beyond int64 never compares"),
    ],
)
def test_comparison_operators(operator: str, wanted: str, actual: str, expected: bool) -> None:
    """Lt and Gt compare plain integers, the taint's with the toleration's."""
    toleration = Toleration(key="k", operator=operator, value=wanted)
    taint = Taint(key="k", value=actual, effect="NoSchedule")

    assert tolerates(toleration, taint, comparison_operators=True) == expected


def test_comparison_operators_are_gated() -> None:
    """Without TaintTolerationComparisonOperators, off in 1.36, Lt and Gt tolerate nothing."""
    taint = Taint(key="k", value="6", effect="NoSchedule")

    assert not tolerates(Toleration(key="k", operator="Gt", value="5"), taint)


def test_first_untolerated_taint_is_found() -> None:
    """The node's order decides which taint is named; effects that are not asked for do not count."""
    soft = Taint(key="a", effect=PREFER_NO_SCHEDULE)
    first, second = Taint(key="b", effect="NoSchedule"), Taint(key="c", effect="NoExecute")
    taints = (soft, GPU, first, second)

    assert find_untolerated(taints, (Toleration(key="gpu", operator="Exists"),)) == first
    assert find_untolerated(taints, (), {PREFER_NO_SCHEDULE}) == soft
    assert find_untolerated(taints, (Toleration(operator="Exists"),)) is None


words = st.sampled_from(["", "a", "b"])


@given(
    st.builds(Toleration, key=words, value=words, effect=words, operator=st.sampled_from(["", "Equal", "Exists"])),
    st.builds(Taint, key=words, value=words, effect=words),
)
def test_tolerates_as_documented(toleration: Toleration, taint: Taint) -> None:
    """Effect, key and value each match, or are left open by the toleration."""
    effect = toleration.effect in ("", taint.effect)
    key = toleration.key in ("", taint.key)
    value = toleration.operator == "Exists" or toleration.value == taint.value

    assert tolerates(toleration, taint) == (effect and key and value)


def test_taints_print_like_kubectl() -> None:
    """key=value:effect, without what is empty."""
    assert str(GPU) == "gpu=yes:NoSchedule"
    assert str(Taint(key="a", effect="NoExecute")) == "a:NoExecute"
