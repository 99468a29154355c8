"""5,000 pods on 500 nodes: all bound, none twice, no node beyond what it has, whatever happens meanwhile."""

from __future__ import annotations

import json
import random
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.e2e.api import Object
from tests.e2e.audit import BindingAudit
from tests.e2e.bayplan import start_bayplan
from tests.e2e.burst import N_NODES, N_PODS, Burst, columns, make_node
from tests.e2e.control_plane import READY_SECONDS, ControlPlane, accepts, free_port
from tests.e2e.in_process import InProcess
from tests.e2e.proxy import FAULTS

KILLS = 5
RESTARTS = 3
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@pytest.fixture
def burst(start_control_plane: Callable[..., ControlPlane], tmp_path: Path) -> Burst:
    audit = BindingAudit(tmp_path)
    return Burst(start_control_plane(api_server_arguments=audit.arguments), audit)


class BadConnection:
    """A proxy before the API server that makes trouble (`proxy.py`), and a kubeconfig that goes through it."""

    def __init__(self, plane: ControlPlane, *, refuse: float = 0.0, cut_watches: float = 0.0) -> None:
        self._plane = plane
        self._port = free_port()
        self._faults = [f"--refuse={refuse}", f"--cut-watches={cut_watches}"]
        self.kubeconfig = plane.folder / "bad-connection.kubeconfig"

    def __enter__(self) -> BadConnection:
        address = [f"--listen={self._port}", f"--server={self._plane.port}"]
        authority = f"--authority={self._plane.authority.pair.certificate}"
        arguments = [sys.executable, "-m", "tests.e2e.proxy", *address, authority, *self._faults]
        self._process = self._plane.start("proxy", arguments)
        self._process.wait_until(lambda: accepts(self._port), timeout=READY_SECONDS)
        self.kubeconfig.write_text(yaml.safe_dump(self._access()))
        return self

    def __exit__(self, *error: object) -> None:
        self._process.stop()

    def counts(self) -> Counter[str]:
        """How often each fault struck."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/-/counts") as answer:
            return Counter(json.load(answer))

    def _access(self) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "bad",
            "clusters": [{"name": "bad", "cluster": {"server": f"http://127.0.0.1:{self._port}"}}],
            "users": [{"name": "bad", "user": {}}],
            "contexts": [{"name": "bad", "context": {"cluster": "bad", "user": "bad"}}],
        }


class Churn:
    """Takes nodes away, and their pods with them, as the controllers of a cluster would."""

    def __init__(self, burst: Burst) -> None:
        self._burst = burst
        self._random = random.Random(1)  # noqa: S311
        self._names = [f"node-{i:03}" for i in range(N_NODES)]
        self.n_nodes = self.n_pods = 0

    def turn(self) -> None:
        """One node goes; it, or another in its place, comes back after a moment."""
        name = self._names.pop(self._random.randrange(len(self._names)))
        self._burst.api.delete("Node", name)
        self.n_nodes += 1
        time.sleep(0.05)
        self._replace_pods(name)
        if self._random.random() < 0.5:
            name = f"new-{self.n_nodes:03}"
        self._burst.api.create(make_node(name))
        self._names.append(name)

    def _replace_pods(self, node_name: str) -> None:
        lost = self._burst.api.list("Pod", fieldSelector=f"spec.nodeName={node_name}")
        for each in lost:
            self._burst.api.delete("Pod", each["metadata"]["name"])
        self.n_pods += len(lost)
        self._burst.make(len(lost))

    def clear(self) -> None:
        """Pods that were bound to a node that had just gone are made anew, until there are none."""
        while True:
            self._burst.wait_until_all_are_bound()
            there = {each["metadata"]["name"] for each in self._burst.api.list("Node")}
            gone = {each["spec"]["nodeName"] for each in self._burst.api.list("Pod")} - there
            if not gone:
                return
            for name in gone:
                self._replace_pods(name)


def _make_slowly(burst: Burst, *, seconds: float = 30.0) -> None:
    """In ten parts, so that there is time for trouble."""
    for _ in range(10):
        start = time.monotonic()
        burst.make(N_PODS // 10)
        time.sleep(max(seconds / 10 - (time.monotonic() - start), 0))


def test_nothing_happens(burst: Burst) -> None:
    """The plain case, to compare the others with."""
    with InProcess(burst.plane.kubeconfig) as scheduler:
        scheduler.ask(columns)
        start = time.monotonic()
        burst.make(N_PODS)
        made = time.monotonic()
        burst.wait_until_all_are_bound()
        print(f"created in {made - start:.1f} s, bound {time.monotonic() - made:.1f} s later")

        burst.check()
        burst.check_columns(scheduler)
        burst.check_events(scheduler)


def test_the_scheduler_is_killed(burst: Burst) -> None:
    """Killed five times in the middle of it, each time a new one goes on where the old one was."""
    part = N_PODS // (KILLS + 1)
    for number in range(KILLS):
        process = start_bayplan(burst.plane)
        with burst.making(part):
            # With a quarter of its part still to come, and binds under way.
            burst.wait_for_binds(number * part + part * 3 // 4)
            process.kill()
    with InProcess(burst.plane.kubeconfig) as scheduler:
        scheduler.ask(columns)
        burst.make(N_PODS - KILLS * part)
        burst.wait_until_all_are_bound()

        burst.check()
        burst.check_columns(scheduler)
    # A kill between a bind and its event costs the event; nobody else tells of that bind.
    assert max(burst.n_told().values()) == 1


def test_the_api_server_is_restarted(burst: Burst) -> None:
    """Stopped or killed, three times in all: whatever was under way is looked up, and all of it goes on."""
    part = N_PODS // RESTARTS
    with InProcess(burst.plane.kubeconfig) as scheduler:
        scheduler.ask(columns)
        for number in range(RESTARTS):
            with burst.making(part):
                burst.wait_for_binds(number * part + part // 2)
                burst.plane.restart_api_server(crash=number % 2 == 0)
        burst.make(N_PODS - RESTARTS * part)
        burst.wait_until_all_are_bound()

        burst.check()
        burst.check_columns(scheduler)
        burst.check_events(scheduler)


def test_watches_are_cut(burst: Burst) -> None:
    """No watch lasts longer than two seconds, and each ends in the middle of something."""
    with BadConnection(burst.plane, cut_watches=1.0) as connection, InProcess(connection.kubeconfig) as scheduler:
        scheduler.ask(columns)
        _make_slowly(burst)
        burst.wait_until_all_are_bound()

        burst.check()
        burst.check_columns(scheduler)
        burst.check_events(scheduler)
        counts = connection.counts()
    print(counts)
    assert counts["watches cut"] > 50


def test_requests_are_refused_at_random(burst: Burst) -> None:
    """A tenth of them: with 429, with 500 before or after the fact, or with a connection that is gone."""
    with BadConnection(burst.plane, refuse=0.1) as connection, InProcess(connection.kubeconfig) as scheduler:
        scheduler.ask(columns)
        burst.make(N_PODS)
        burst.wait_until_all_are_bound()

        burst.check()
        burst.check_columns(scheduler)
        burst.check_events(scheduler)
        counts = connection.counts()
    print(counts)
    assert all(counts[fault] > N_PODS // 100 for fault in FAULTS)


def test_nodes_come_and_go(burst: Burst) -> None:
    """Nodes vanish with their pods, which are made anew, and come back under an old name or a new one."""
    with InProcess(burst.plane.kubeconfig) as scheduler:
        scheduler.ask(columns)
        churn = Churn(burst)
        with burst.making(N_PODS):
            # However fast pods are bound, and however slow nodes come and go.
            while burst.n_bound() < N_PODS * 3 // 4 or churn.n_nodes <= N_PODS // 250:
                churn.turn()
        churn.clear()
        burst.wait_until_all_are_bound()
        print(f"{churn.n_nodes} nodes went, and {churn.n_pods} pods with them")

        burst.check()
        burst.check_columns(scheduler)
        burst.check_events(scheduler)
