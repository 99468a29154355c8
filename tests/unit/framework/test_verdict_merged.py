"""MergedVerdicts: a stored result equals that of merging the verdicts again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cache import Cache
from bayplan.framework import Code, FilterOutcome, NodeTable, Status, Verdict
from bayplan.framework.verdict import MergedVerdicts
from bayplan.testing import make_node

N_NODES = 3


PLUGINS = ("First", "Second", "Third")


@pytest.fixture(scope="module")
def nodes() -> NodeTable:
    cache = Cache()
    for i in range(N_NODES):
        cache.set_node(make_node(f"n{i}"))
    return cache.snapshot().nodes


def rejecting(*positions: int, code: Code = Code.UNSCHEDULABLE) -> Verdict:
    mask = np.isin(np.arange(N_NODES), positions)
    return Verdict(N_NODES).reject(mask, f"not {positions}", code)


#: A few verdicts, so that the same objects come again and again.
VERDICTS = (rejecting(0), rejecting(0, 1), rejecting(2), rejecting(), rejecting(0, 1, 2))

attempts = st.lists(
    st.lists(st.tuples(st.sampled_from(range(len(PLUGINS))), st.sampled_from(VERDICTS)), max_size=4).map(
        lambda pairs: sorted(pairs, key=lambda pair: pair[0])
    ),
    max_size=8,
)


def merge(start: MergedVerdicts, pairs: list[tuple[int, Verdict]]) -> MergedVerdicts:
    merged = start
    for plugin, verdict in pairs:
        result = merged.add(PLUGINS[plugin], verdict)
        assert isinstance(result, MergedVerdicts)
        merged = result
        if merged.leaves_none:
            break
    return merged


def outcome_of(merged: MergedVerdicts) -> FilterOutcome:
    return FilterOutcome(merged.nodes, None, merged.decided, None, merged)


def described(merged: MergedVerdicts) -> Any:
    outcome = outcome_of(merged)
    decided = [(entry.plugin, entry.where.tolist()) for entry in outcome.decided]
    return outcome.feasible.tolist(), decided, list(outcome.rejecting_plugins()), outcome.n_rejected


@given(sequence=attempts)
def test_stored_equals_merged_again(nodes: NodeTable, sequence: list[list[tuple[int, Verdict]]]) -> None:
    """Whatever was merged before; and earlier results stay as they were."""
    start = MergedVerdicts(nodes)
    seen = []
    for pairs in sequence:
        merged = merge(start, pairs)
        assert described(merged) == described(merge(MergedVerdicts(nodes), pairs))
        seen.append((merged, described(merged)))
    assert [described(merged) for merged, _ in seen] == [then for _, then in seen]


def test_same_verdicts_share_the_result(nodes: NodeTable) -> None:
    """The same verdict objects of the same plugins lead to the same object, others do not."""
    start = MergedVerdicts(nodes)
    pairs = [(0, VERDICTS[0]), (2, VERDICTS[2])]
    first = merge(start, pairs)
    assert merge(start, pairs) is first
    assert merge(start, pairs[:1]) is not first
    assert merge(start, [(0, VERDICTS[0]), (1, VERDICTS[2])]) is not first
    assert merge(start, [(0, VERDICTS[0]), (2, rejecting(2))]) is not first


def test_error_ends_it(nodes: NodeTable) -> None:
    """An ERROR counts on a node that no plugin has rejected before."""
    merged = merge(MergedVerdicts(nodes), [(0, VERDICTS[0]), (1, rejecting(0, code=Code.ERROR))])
    failure = merged.add("Third", rejecting(1, code=Code.ERROR))
    assert isinstance(failure, Status)
    assert failure.code is Code.ERROR


def test_override_changes_one_outcome(nodes: NodeTable) -> None:
    """Outcomes that share merged verdicts with the overridden one stay as they are."""
    merged = merge(MergedVerdicts(nodes), [(0, VERDICTS[0])])
    changed, other = outcome_of(merged), outcome_of(merged)
    changed.override(0, Status.success())
    changed.override(1, Status.unschedulable("taken").by("Other"))
    assert changed.feasible.tolist() == [True, False, True]
    assert changed.status(0) is None
    assert list(changed.rejecting_plugins()) == [("Other", Code.UNSCHEDULABLE)]
    assert other.feasible.tolist() == [False, True, True]
    assert other.status(0) is not None
