"""The pods of one owner are counted as they come and go."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from bayplan.controllers.owned_pods import OwnedPods
from bayplan.controllers.pod_view import PODS, PodView

NOW = 1_000_000.0


def pod(uid: str, *, ready_at: str | None = None, phase: str = "Running", **metadata: Any) -> PodView:
    times = {"lastTransitionTime": ready_at} if ready_at else {}
    conditions = [{"type": "Ready", "status": "True", **times}] if ready_at is not None else []
    status = {"phase": phase, "conditions": conditions}
    return PODS.decode(json.dumps({"metadata": {"name": uid, "uid": uid, **metadata}, "status": status}).encode())


def ready(uid: str, second: int) -> PodView:
    return pod(uid, ready_at=f"1970-01-12T13:46:{second:02}Z")  # NOW is second 40


def test_an_ended_pod_is_no_replica() -> None:
    pods = OwnedPods([pod("a"), pod("b", phase="Failed"), pod("c", deletionTimestamp="2026-01-01T00:00:00Z")])

    assert (len(pods), pods.n_active, pods.n_terminating) == (3, 1, 1)
    assert [each.uid for each in pods.active] == ["a"]


def test_a_pod_becomes_available_in_time() -> None:
    """It has to be ready for `minReadySeconds`; until then, the owner is to be looked at again."""
    pods = OwnedPods([ready("a", 10), ready("b", 35), ready("c", 38), pod("d")])

    assert (pods.n_ready, pods.n_available(NOW, 0), pods.n_available(NOW, 5)) == (3, 3, 2)
    assert pods.next_available(NOW, 5) == 3.0
    assert pods.next_available(NOW, 0) is None
    assert pods.next_available(NOW + 3, 5) is None


def test_a_pod_of_unknown_readiness_time_is_never_available() -> None:
    pods = OwnedPods([pod("a", ready_at="")])

    assert (pods.n_ready, pods.n_available(NOW, 1), pods.next_available(NOW, 1)) == (1, 0, None)


def test_labels_of_the_template() -> None:
    pods = OwnedPods([pod("a", labels={"app": "web", "x": "1"}), pod("b", labels={"app": "web"}), pod("c")])

    assert [pods.n_labelled(each) for each in ({}, {"app": "web"}, {"app": "web", "x": "1"})] == [3, 2, 1]


@pytest.mark.parametrize("seed", range(20))
def test_counts_are_those_of_a_full_count(seed: int) -> None:
    """After any changes, every count is that of the pods that are there."""
    random = Random(seed)  # noqa: S311 (not for cryptography)
    pods = OwnedPods()
    kept: dict[str, PodView] = {}
    for _ in range(200):
        uid = str(random.randrange(20))
        if random.random() < 0.3:
            kept.pop(uid, None)
            pods.remove(uid)
        else:
            kept[uid] = _random_pod(random, uid)
            pods.put(kept[uid])
        fresh = OwnedPods(kept.values())
        active = [each for each in kept.values() if each.is_active]
        assert {each.uid for each in pods} == set(kept)
        assert (pods.n_active, pods.n_ready) == (len(active), sum(each.is_ready for each in active))
        assert pods.n_terminating == sum(each.is_deleted and not each.has_ended for each in kept.values())
        assert pods.n_labelled({"app": "web"}) == sum("app" in each.metadata.labels for each in active)
        assert pods.n_available(NOW, 20) == fresh.n_available(NOW, 20)
        assert pods.next_available(NOW, 20) == fresh.next_available(NOW, 20)


def _random_pod(random: Random, uid: str) -> PodView:
    metadata: dict[str, Any] = {}
    if random.random() < 0.2:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if random.random() < 0.5:
        metadata["labels"] = {"app": "web"}
    at = f"1970-01-12T13:46:{random.randrange(40):02}Z" if random.random() < 0.6 else None
    return pod(uid, ready_at=at, phase=random.choice(["Pending", "Running", "Failed"]), **metadata)
