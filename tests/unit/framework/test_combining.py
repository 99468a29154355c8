"""Verdicts put together: what is remembered of them equals what they come to when put together anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cache import Cache
from bayplan.framework import Code, CycleState, FilterOutcome, NodeTable, Plugin, Status, Verdict
from bayplan.framework.calls import Bound
from bayplan.framework.combining import Combining, Remembered
from bayplan.framework.points import POINT_BY_NAME
from bayplan.model import Pod
from bayplan.testing import make_node

N_NODES = 3


class _Filter(Plugin):
    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> None: ...


def _bound(name: str) -> Bound:
    plugin_class = type(name, (_Filter,), {"name": name})
    return Bound(plugin_class(None, None), "filter_nodes", POINT_BY_NAME["filter"])


PLUGINS = [_bound(name) for name in ("First", "Second", "Third")]


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


def combined(nodes: NodeTable, known: Remembered | None, pairs: list[tuple[int, Verdict]]) -> Remembered:
    combining = Combining(nodes, known)
    for plugin, verdict in pairs:
        assert combining.add(PLUGINS[plugin], verdict) is None
        if combining.leaves_none:
            break
    return combining.finish()


def described(remembered: Remembered) -> Any:
    outcome = FilterOutcome.of(remembered.combined)
    decided = [(entry.plugin, entry.where.tolist()) for entry in outcome.decided]
    return outcome.feasible.tolist(), decided, list(outcome.rejecting_plugins()), outcome.n_rejected


@given(sequence=attempts)
def test_remembered_equals_anew(nodes: NodeTable, sequence: list[list[tuple[int, Verdict]]]) -> None:
    """Whatever the attempt before came to; and what it was given stays as it was."""
    known: Remembered | None = None
    seen = []
    for pairs in sequence:
        known = combined(nodes, known, pairs)
        assert described(known) == described(combined(nodes, None, pairs))
        seen.append((known, described(known)))
    assert [described(remembered) for remembered, _ in seen] == [then for _, then in seen]


def test_same_verdicts_share_the_result(nodes: NodeTable) -> None:
    """That is what it is for; another table's result is not taken."""
    pairs = [(0, VERDICTS[0]), (2, VERDICTS[2])]
    first = combined(nodes, None, pairs)
    assert combined(nodes, first, pairs) is first
    assert combined(nodes, first, pairs[:1]) is not first
    assert combined(nodes.select(np.arange(N_NODES)), first, pairs) is not first


def test_error_ends_it(nodes: NodeTable) -> None:
    """An ERROR counts on a node that nobody has rejected before."""
    combining = Combining(nodes, None)
    assert combining.add(PLUGINS[0], VERDICTS[0]) is None
    assert combining.add(PLUGINS[1], rejecting(0, code=Code.ERROR)) is None
    failure = combining.add(PLUGINS[2], rejecting(1, code=Code.ERROR))
    assert failure is not None
    assert failure.code is Code.ERROR


def test_settled_by_hand_is_one_attempts_own(nodes: NodeTable) -> None:
    """An outcome that nominated pods or an extender changed leaves the others as they are."""
    remembered = combined(nodes, None, [(0, VERDICTS[0])])
    changed, other = FilterOutcome.of(remembered.combined), FilterOutcome.of(remembered.combined)
    changed.override(0, Status.success())
    changed.override(1, Status.unschedulable("taken").by("Other"))
    assert changed.feasible.tolist() == [True, False, True]
    assert changed.status(0) is None
    assert list(changed.rejecting_plugins()) == [("Other", Code.UNSCHEDULABLE)]
    assert other.feasible.tolist() == [False, True, True]
    assert other.status(0) is not None
