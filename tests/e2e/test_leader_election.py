"""Two replicas of Bayplan: one schedules, the other is ready; never both."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.e2e.api import ApiError, Object, eventually
from tests.e2e.audit import BindingAudit
from tests.e2e.bayplan import start_bayplan
from tests.e2e.control_plane import ControlPlane
from tests.e2e.objects import node, pod
from tests.e2e.processes import Process
from tests.e2e.seen import bound_to

pytestmark = pytest.mark.e2e

#: Of a leader that dies. A replica looks at the lease at least every 0.8 retry periods; the rest of one, 1.6 s, is
#: for taking the lease and for the first bind, on machines that have other things to do as well.
LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS = 12, 10, 8.0
LEASE = "coordination.k8s.io/v1/Lease"
BURST = 300


class Cluster:
    """A control plane whose API server keeps book of binds, and the replicas by name."""

    def __init__(self, plane: ControlPlane, audit: BindingAudit) -> None:
        self.plane, self.api, self.audit = plane, plane.api, audit
        self.api.create_many([node(f"node-{i}", cpu="64", pods=500) for i in range(3)])

    def start(self, name: str, *, lease: float = 8, renew: float = 6, retry: float = 0.5) -> Process:
        """A replica with a user of its own, so that the audit log tells who it was.

        Its lease is short, but a busy API server is not away for as long as the renew deadline.
        """
        kubeconfig = self.plane.kubeconfig_for(name, groups=["system:masters"])
        configuration: Object = {
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "leaderElection": {
                "leaderElect": True,
                "leaseDuration": f"{lease:g}s",
                "renewDeadline": f"{renew:g}s",
                "retryPeriod": f"{round(retry * 1000)}ms",
            },
        }
        return start_bayplan(self.plane, configuration, name=name)

    def holder(self) -> str:
        try:
            spec = self.api.get(LEASE, "kube-scheduler", namespace="kube-system")["spec"]
        except ApiError:
            return ""
        return str(spec.get("holderIdentity", ""))

    def lease_time(self, field: str) -> datetime:
        spec = self.api.get(LEASE, "kube-scheduler", namespace="kube-system")["spec"]
        return datetime.fromisoformat(spec[field])

    def wait_for_bind(self, name: str) -> float:
        """Seconds until the pod is bound."""
        start = time.monotonic()
        eventually(lambda: bound_to(self.api, name), interval=0.01)
        return time.monotonic() - start

    def n_bound(self) -> int:
        return sum("nodeName" in each["spec"] for each in self.api.list("Pod"))

    def binders(self) -> dict[str, set[str]]:
        """Pod → who bound it."""
        found: dict[str, set[str]] = {}
        for bind in self.audit.successes():
            found.setdefault(bind.pod, set()).add(bind.user)
        return found


@pytest.fixture
def cluster(start_control_plane: Callable[..., ControlPlane], tmp_path: Path) -> Cluster:
    audit = BindingAudit(tmp_path)
    return Cluster(start_control_plane(api_server_arguments=audit.arguments), audit)


def test_the_other_takes_over_from_a_killed_leader(cluster: Cluster) -> None:
    """It binds its first pod within the lease duration and the retry period; and does not lead before its time."""
    times = {"lease": LEASE_SECONDS, "renew": RENEW_SECONDS, "retry": RETRY_SECONDS}
    leader = cluster.start("first", **times)
    eventually(cluster.holder)
    cluster.start("second", **times)
    cluster.api.create(pod("before"))
    cluster.wait_for_bind("before")

    killed = time.monotonic()
    leader.kill()
    renewed = cluster.lease_time("renewTime")
    cluster.api.create(pod("after"))
    cluster.wait_for_bind("after")
    seconds = time.monotonic() - killed

    print(f"first pod bound after {seconds:.2f} s")
    assert seconds <= LEASE_SECONDS + RETRY_SECONDS
    # Both times are of this machine's clock, so that they may be compared here.
    assert cluster.lease_time("acquireTime") - renewed >= timedelta(seconds=LEASE_SECONDS)
    assert cluster.binders() == {"default/before": {"first"}, "default/after": {"second"}}


def test_a_frozen_leader_does_not_bind_when_it_wakes(cluster: Cluster) -> None:
    """Frozen in the middle of a burst and past its lease, it binds none of the rest, and ends."""
    first = cluster.start("first")
    eventually(cluster.holder)
    second = cluster.start("second")
    cluster.api.create_many([pod(f"pod-{i:03}") for i in range(BURST // 2)])
    eventually(lambda: cluster.n_bound() > 10)

    # 1. The leader freezes with pods still to come; the other one takes over and binds them.
    first.freeze()
    cluster.api.create_many([pod(f"pod-{i:03}") for i in range(BURST // 2, BURST)])
    eventually(lambda: cluster.n_bound() == BURST)
    # 2. The other one is gone as well: there is a pod to bind, a lease that is not ours, and we wake.
    second.kill()
    cluster.api.create(pod("late"))
    woken = time.time()
    first.signal(signal.SIGCONT)

    assert first.wait() != 0
    assert not [bind for bind in cluster.audit.binds() if bind.user == "first" and bind.at > woken]
    assert bound_to(cluster.api, "late") is None
    assert all(len(users) == 1 for users in cluster.binders().values())
    # 3. Once it leads again it binds again.
    cluster.start("first")
    cluster.wait_for_bind("late")
    assert cluster.binders()["default/late"] == {"first"}


def test_a_leader_that_stops_gives_up_its_lease(cluster: Cluster) -> None:
    """The other one need not wait until the lease has run out."""
    first = cluster.start("first", lease=60, renew=40, retry=0.5)
    held = eventually(cluster.holder)
    cluster.start("second", lease=60, renew=40, retry=0.5)

    first.signal(signal.SIGTERM)
    cluster.api.create(pod("after"))
    seconds = cluster.wait_for_bind("after")

    print(f"first pod bound after {seconds:.2f} s")
    assert first.wait() == 0
    assert seconds < 60 / 2
    assert cluster.holder() != held
    assert cluster.binders()["default/after"] == {"second"}
