"""A rolling update: sizes follow from the strategy, and no step exceeds its limits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.controllers.rollout import ReplicaSetSize, RolloutLimits, limits_of, new_size, old_sizes


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        pytest.param(
            10, "25%", "25%", RolloutLimits(3, 2), id="percentages: surge rounds up, unavailability down"
        ),
        pytest.param(10, 2, 0, RolloutLimits(2, 0), id="numbers"),
        pytest.param(1, "25%", "25%", RolloutLimits(1, 0), id="one replica surges"),
        pytest.param(3, 0, "10%", RolloutLimits(0, 1), id="with neither, one may be unavailable"),
        pytest.param(2, 0, 5, RolloutLimits(0, 2), id="no more unavailable than there are"),
    ],
)
def test_limits(replicas: int, surge: int | str, unavailable: int | str, expected: RolloutLimits) -> None:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    spec: dict[str, Any] = {
        "replicas": replicas,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
    }
    assert limits_of(spec) == expected


def test_recreate_may_make_all_unavailable() -> None:
    assert limits_of({"replicas": 4, "strategy": {"type": "Recreate"}}) == RolloutLimits(0, 4)


@given(
    desired=st.integers(0, 20),
    surge=st.integers(0, 5),
    unavailable=st.integers(0, 5),
    old=st.lists(st.integers(0, 10), max_size=3),
    readiness=st.data(),
)
def test_an_update_keeps_its_limits_and_ends(
    desired: int, surge: int, unavailable: int, old: list[int], readiness: st.DataObject
) -> None:
    """In every state at most replicas + surge, at least replicas - unavailable; at the end, all are new."""
    limits = RolloutLimits(surge, max(min(unavailable, desired), 0 if surge else 1))
    # The old sizes are what an earlier rollout left: together no more than it was allowed.
    olds = [ReplicaSetSize(size, size) for size in old]
    new = ReplicaSetSize(0, 0)
    most = max(desired + surge, sum(old))
    least = min(desired - limits.max_unavailable, sum(old))
    for _ in range(200):
        new.replicas = new_size(desired, limits, new, olds)
        for size, wanted in zip(olds, old_sizes(desired, limits, new, olds), strict=True):
            assert wanted <= size.replicas
            size.replicas = wanted
            size.available = min(size.available, wanted)
        assert new.replicas + sum(size.replicas for size in olds) <= most
        assert new.available + sum(size.available for size in olds) >= least
        became_ready = readiness.draw(st.integers(0, new.replicas - new.available), label="become ready")
        new.available += max(became_ready, 1) if new.available < new.replicas else 0
    assert new.replicas == desired
    assert [size.replicas for size in olds] == [0] * len(olds)
