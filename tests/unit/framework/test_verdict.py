"""Verdict: the result of one plugin for all nodes, and of several plugins together."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from bayplan.cache import Cache
from bayplan.framework import (
    BoolArray,
    Code,
    CycleState,
    Decided,
    FilterOutcome,
    NodeTable,
    PlacedPlugin,
    Plugin,
    ProfilePlugins,
    Runner,
    Status,
    Verdict,
)
from bayplan.framework.verdict import are_within
from bayplan.testing import make_node, make_pod

#: The codes with which a node can be rejected.
REJECTING = (Code.PENDING, Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.ERROR)


def mask(*positions: int) -> BoolArray:
    return np.array([i in positions for i in range(3)])


@pytest.fixture
def nodes() -> NodeTable:
    cache = Cache()
    for name in ("a", "b", "c"):
        cache.set_node(make_node(name))
    return cache.snapshot().nodes


# --- one plugin ---------------------------------------------------------------------------------------


def test_verdict_that_accepts_all() -> None:
    """Without rejections every node passes."""
    verdict = Verdict(3)
    assert (verdict.accepts_all, verdict.rejected.tolist(), verdict.status(0)) == (True, [False] * 3, None)


def test_reasons_add_up() -> None:
    """A node may fail for several reasons; they are listed in the order in which they were given."""
    verdict = Verdict(3).reject(mask(0, 1), "one").reject(mask(1, 2), "two")
    assert verdict.rejected.tolist() == [True, True, True]
    assert [verdict.status(i) for i in range(3)] == [
        Status.unschedulable("one"),
        Status.unschedulable("one", "two"),
        Status.unschedulable("two"),
    ]


@pytest.mark.parametrize(
    ("codes", "strongest"),
    [
        ((Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE), Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
        ((Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.UNSCHEDULABLE), Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
        ((Code.PENDING, Code.UNSCHEDULABLE), Code.UNSCHEDULABLE),
        ((Code.ERROR, Code.UNSCHEDULABLE_AND_UNRESOLVABLE), Code.ERROR),
    ],
    ids=["unresolvable last", "unresolvable first", "pending is the weakest", "an error is the strongest"],
)
def test_strongest_code_counts(codes: tuple[Code, Code], strongest: Code) -> None:
    """One unresolvable reason is enough: removing pods cannot make the node fit."""
    verdict = Verdict(3).reject(mask(0), "one", codes[0]).reject(mask(0), "two", codes[1])
    status = verdict.status(0)
    assert status is not None
    assert (status.code, status.reasons) == (strongest, ("one", "two"))


def test_statuses_of_a_per_node_plugin() -> None:
    """What a per-node plugin said about a node stands as it is."""
    verdict = Verdict(3, statuses={1: Status.pending("soon")}).reject(mask(0), "no")
    assert verdict.rejected.tolist() == [True, True, False]
    assert (verdict.status(1), verdict.accepts_all) == (Status.pending("soon"), False)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (np.zeros(2, dtype=np.bool_), "got bool of shape (2,)"),
        (np.zeros(3, dtype=np.int64), "got int64 of shape (3,)"),
    ],
    ids=["wrong length", "wrong type"],
)
def test_mask_must_fit_the_nodes(wrong: Any, text: str) -> None:
    """A mask of another shape or type is refused with what was expected."""
    with pytest.raises(ValueError, match="a mask must be bool with one entry per node") as raised:
        Verdict(3).reject(wrong, "no")
    assert text in str(raised.value)


def test_failure_is_looked_for_where_it_counts() -> None:
    """An ERROR on a node that another plugin rejected first does not end the attempt."""
    verdict = Verdict(3).reject(mask(1), "no").reject(mask(0), "broken", Code.ERROR)
    assert verdict.failure(mask(0, 2)) == Status.failed("broken")
    assert verdict.failure(mask(1, 2)) is None


def test_error_of_a_single_node_is_a_failure() -> None:
    """Also if a column verdict gives it as the status of the node."""
    error = Status.failed("broken")
    verdict = Verdict(3, statuses={0: Status.unschedulable("no"), 1: error})
    assert verdict.failure(mask(0, 1)) is error
    assert verdict.failure(mask(0, 2)) is None


# --- several plugins ----------------------------------------------------------------------------------


def _outcome(nodes: NodeTable) -> FilterOutcome:
    """a: rejected by First; b: by Second, one by one; c: passed."""
    first = Verdict(3).reject(mask(0), "no").reject(mask(0, 1), "never", Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
    second = Verdict(3, statuses={0: Status.unschedulable("late"), 1: Status.pending("soon").by("Second")})
    decided = [Decided("First", first, mask(0)), Decided("Second", second, mask(1))]
    return FilterOutcome(nodes, mask(2), decided)


def test_first_rejection_counts(nodes: NodeTable) -> None:
    """Each node has the status of the plugin that rejected it first."""
    outcome = _outcome(nodes)
    assert [outcome.status(i) for i in range(3)] == [
        Status.unresolvable("no", "never"),
        Status.pending("soon"),
        None,
    ]
    first = outcome.status(0)
    assert first is not None
    assert first.plugin == "First"


def test_codes_by_node(nodes: NodeTable) -> None:
    """The codes are those of the statuses."""
    outcome = _outcome(nodes)
    expected = [Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING, Code.SUCCESS]
    assert outcome.codes().tolist() == [int(code) for code in expected]


@pytest.mark.parametrize("codes", [*itertools.permutations(REJECTING, 2)])
def test_codes_are_those_of_the_statuses(nodes: NodeTable, codes: tuple[Code, Code]) -> None:
    """A node that is rejected with two codes has the more severe one."""
    verdict = Verdict(3).reject(mask(0), "one", codes[0]).reject(mask(0), "two", codes[1])
    outcome = FilterOutcome(nodes, mask(1, 2), [Decided("Both", verdict, mask(0))])
    status = outcome.status(0)
    assert status is not None
    assert outcome.codes()[0] == status.code


def test_reasons_are_counted_once(nodes: NodeTable) -> None:
    """Only the rejections that decided are counted."""
    assert _outcome(nodes).reasons() == {"no": 1, "never": 1, "soon": 1}


def test_rejecting_plugins(nodes: NodeTable) -> None:
    """Every plugin that decided about a node, with its codes."""
    assert set(_outcome(nodes).rejecting_plugins()) == {
        ("First", Code.UNSCHEDULABLE),
        ("First", Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
        ("Second", Code.PENDING),
    }


def test_node_settled_by_hand(nodes: NodeTable) -> None:
    """An override replaces what the plugins said, and a later one replaces the first."""
    outcome = _outcome(nodes)
    outcome.override(0, Status.success())
    outcome.override(2, Status.unschedulable("wrong"))
    outcome.override(2, Status.unschedulable("taken").by("Third"))
    assert outcome.feasible.tolist() == [True, False, False]
    assert [outcome.status(i) for i in (0, 2)] == [None, Status.unschedulable("taken")]
    assert outcome.codes().tolist() == [int(Code.SUCCESS), int(Code.PENDING), int(Code.UNSCHEDULABLE)]
    assert outcome.reasons() == {"soon": 1, "taken": 1}
    assert ("Third", Code.UNSCHEDULABLE) in set(outcome.rejecting_plugins())
    assert not any(plugin == "First" for plugin, _ in outcome.rejecting_plugins())


def test_override_by_nobody(nodes: NodeTable) -> None:
    """A node settled without a plugin's name blames no plugin."""
    outcome = FilterOutcome(nodes, mask(0, 1, 2), [])
    outcome.override(0, Status.unschedulable("extender"))
    assert list(outcome.rejecting_plugins()) == []


def test_status_of_a_node_that_was_not_rejected() -> None:
    """Asking a plugin why it rejected a node that it did not reject is a bug."""
    with pytest.raises(LookupError, match="First did not reject node 2"):
        Decided("First", Verdict(3), mask(2)).status(2)


def test_error_in_a_verdict_ends_the_attempt(nodes: NodeTable) -> None:
    """A column plugin can report an ERROR on some nodes; it counts where nobody rejected the node before."""

    def plugin(name: str, where: BoolArray, code: Code) -> Plugin:
        methods = {"filter_nodes": lambda self, state, pod, table: table.reject(where, name, code)}
        made: Plugin = type(name, (Plugin,), {"name": name, **methods})(None, None)
        return made

    broken = plugin("Broken", mask(0), Code.ERROR)
    for strict, error in (
        (plugin("Strict", mask(0), Code.UNSCHEDULABLE), None),
        (plugin("Strict", mask(1), Code.UNSCHEDULABLE), Status.failed('running "Broken" filter plugin: Broken')),
    ):
        runner = Runner(ProfilePlugins("test", {"filter": [PlacedPlugin(strict), PlacedPlugin(broken)]}))
        assert runner.filter(CycleState(), make_pod("p"), nodes).error == error


def test_column_that_goes_on_changing() -> None:
    """A mask that is a column of the scheduler's own is copied: a verdict stays what it was."""
    column = np.array([True, False, False])
    verdict = Verdict(2).reject(column[:2], "cordoned")
    column[:2] = [False, True]
    assert verdict.rejected.tolist() == [True, False]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("numbers", "are"),
    [([], True), ([0, 100], True), ([50, 101, 3], False), ([100, -1], False), ([-(2**31), 2**31 - 1], False)],
    ids=["none", "the ends", "above", "below", "far out"],
)
def test_numbers_within_bounds(dtype: type[np.signedinteger[Any]], numbers: list[int], are: bool) -> None:
    """Both ends belong to it, in either width."""
    assert are_within(np.array(numbers, dtype=dtype), 100) is are
