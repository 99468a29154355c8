"""The driver: what it makes of the watch, and of /proc."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from bench.e2e import proc
from bench.e2e.api import Api
from bench.e2e.driver import Driver
from bench.e2e.workload import Workload

WORKLOAD = Workload(name="plain", description="", pods=2)
KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
"""


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    return Driver(Api(tmp_path / "kubeconfig"), WORKLOAD, n_pods=2)


def line(name: str, node: str, kind: str = "ADDED") -> bytes:
    metadata = {"name": name, "resourceVersion": "1"}
    return msgspec.json.encode({"type": kind, "object": {"metadata": metadata, "spec": {"nodeName": node}}})


def test_binds_are_noted_once(driver: Driver) -> None:
    """The first sight of a node counts; other pods are known, but not measured."""
    driver.see([line("pod-000001", "b")], 10.0)
    driver.see([line("churn-000000", "c"), line("pod-000001", "b", "MODIFIED")], 11.0)
    assert driver.missing == ["pod-000000"]
    driver.see([line("pod-000000", "a")], 12.5)

    assert driver.all_bound.is_set()
    assert driver.placements() == ["a", "b"]
    assert driver.span == 2.5


def test_first_and_last_bind_are_told(driver: Driver) -> None:
    """Each once: CPU is counted in between."""
    told: list[str] = []
    driver.on_first, driver.on_last = lambda: told.append("first"), lambda: told.append("last")
    for name in ("other", "pod-000000", "pod-000000", "pod-000001"):
        driver.see([line(name, "a")], 0.0)

    assert told == ["first", "last"]


def test_deleted_pods_are_not_bound(driver: Driver) -> None:
    """A pod that leaves the watch has a node all the same."""
    driver.see([line("pod-000000", "a", "DELETED")], 1.0)

    assert driver.missing == ["pod-000000", "pod-000001"]


def test_cpu_is_read_after_the_name() -> None:
    """utime, stime, cutime and cstime are the fields 14 to 17; a name may hold anything."""
    stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 0 0"

    assert proc.cpu_ticks(stat) == 127


def test_own_process_costs_something() -> None:
    """The kernel's figures are found, also for one that is gone."""
    assert proc.cpu_seconds(os.getpid()) > 0
    assert proc.peak_mb(os.getpid()) > 1
    assert proc.cpu_seconds(2**22 + 1) == 0
