"""Unschedulable pods are found by the plugins that rejected them."""

from __future__ import annotations

from bayplan.queue.pod_info import QueuedPodInfo
from bayplan.queue.sub_queues import UnschedulablePods
from bayplan.testing import make_pod


def rejected(name: str, *plugins: str) -> QueuedPodInfo:
    info = QueuedPodInfo(make_pod(name), 0.0)
    info.note_failure(plugins)
    return info


def names(infos: list[QueuedPodInfo]) -> list[str]:
    return [info.pod.name for info in infos]


def test_pods_are_found_by_any_of_their_rejectors() -> None:
    """Each once, and not after they were removed."""
    pods = UnschedulablePods()
    for info in (rejected("a", "Fit"), rejected("b", "Fit", "Ports"), rejected("c", "Ports")):
        assert pods.put(info)
    assert names(pods.rejected_by(["Fit"])) == ["a", "b"]
    assert names(pods.rejected_by(["Fit", "Ports", "Other"])) == ["a", "b", "c"]
    assert pods.remove("default/b") is not None
    assert names(pods.rejected_by(["Ports"])) == ["c"]
    assert not list(pods.problems())


def test_pod_is_indexed_by_its_latest_rejectors() -> None:
    pods = UnschedulablePods()
    info = rejected("a", "Fit")
    pods.put(info)
    info.note_failure(["Ports"])
    assert not pods.put(info)
    assert (names(pods.rejected_by(["Fit"])), names(pods.rejected_by(["Ports"]))) == ([], ["a"])
    assert not list(pods.problems())


def test_gated_pods_are_counted() -> None:
    pods = UnschedulablePods()
    info = rejected("a", "Gate")
    info.gating_plugin = "Gate"
    pods.put(info)
    assert pods.n_gated == 1
    info.gating_plugin = ""
    pods.put(info)
    assert pods.n_gated == 0
    assert pods.remove("default/other") is None
