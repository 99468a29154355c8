"""A burst of pods on many nodes, whatever happens meanwhile; and what must be true at the end.

`BAYPLAN_E2E_SCALE=0.1` makes everything ten times smaller.
"""

from __future__ import annotations

import http.client
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from tests.e2e.api import ApiError, Object, eventually
from tests.e2e.audit import BindingAudit
from tests.e2e.control_plane import ControlPlane
from tests.e2e.in_process import InProcess
from tests.e2e.objects import node, pod
from tests.unit.cache.test_columns import shown

from bayplan.cache import Cache
from bayplan.model import Node, Pod
from bayplan.shell.service import SchedulerService

SCALE = float(os.environ.get("BAYPLAN_E2E_SCALE", "1"))
N_PODS = max(int(5000 * SCALE), 20)
N_NODES = max(int(500 * SCALE), 4)
#: Room for a tenth more than there are pods: a place that is counted twice, or not at all, shows.
PLACES = 11
#: A burst takes a minute or two; faults make it longer.
BURST_SECONDS = 400.0


class Burst:
    """A control plane with nodes, and pods that come in parts."""

    def __init__(self, plane: ControlPlane, audit: BindingAudit) -> None:
        self.plane, self.api, self.audit = plane, plane.api, audit
        self.api.create_many([make_node(f"node-{i:03}") for i in range(N_NODES)])
        self._n_made = 0

    # --- making -----------------------------------------------------------------------------------

    def make(self, count: int) -> None:
        """Create pods, through whatever the API server is going through."""
        bodies = [make_pod(self._n_made + i) for i in range(count)]
        self._n_made += count
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(self._create, bodies))

    @contextmanager
    def making(self, count: int) -> Iterator[None]:
        """Create pods beside what the block does."""
        thread = threading.Thread(target=self.make, args=[count])
        thread.start()
        try:
            yield
        finally:
            thread.join()

    def _create(self, body: Object) -> None:
        self.surely(lambda: self.api.create(body))

    def surely(self, call: Callable[[], object]) -> None:
        """Do it again until the API server is there to do it; what is done already, or gone, is fine."""
        deadline = time.monotonic() + BURST_SECONDS
        while time.monotonic() < deadline:
            try:
                call()
                return
            except ApiError as error:
                if error.status in (404, 409):
                    return
                if error.status not in (429, 500, 503, 504):
                    raise
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.2)
        raise AssertionError(f"the API server was away for {BURST_SECONDS:g} s")

    # --- looking ----------------------------------------------------------------------------------

    def n_bound(self) -> int:
        """As the API server's book has it, which can be read while it is away.

        A bind whose sender was killed meanwhile may be there without an answer.
        """
        return len({bind.pod for bind in self.audit.binds() if not bind.is_refusal})

    def wait_for_binds(self, count: int) -> None:
        eventually(lambda: self.n_bound() >= count, timeout=BURST_SECONDS, interval=0.2)

    def wait_until_all_are_bound(self) -> None:
        def done() -> bool:
            return all("nodeName" in each["spec"] for each in self.api.list("Pod"))

        eventually(done, timeout=BURST_SECONDS, interval=1)

    def check(self) -> None:
        """Every pod is bound, none twice, and no node has more than it can take."""
        pods = self.api.list("Pod")
        assert all("nodeName" in each["spec"] for each in pods)
        successes = Counter(bind.pod for bind in self.audit.successes())
        assert [name for name, count in successes.items() if count > 1] == []
        most = max(Counter(each["spec"]["nodeName"] for each in pods).values())
        assert most <= PLACES

    def check_columns(self, scheduler: InProcess) -> None:
        """What the scheduler has counted, change by change, equals what a fresh cache makes of a list."""

        def is_quiet(service: SchedulerService) -> bool:
            in_queue = any(service.queue.counts()) or service.queue.in_flight_events()["PodPopped"]
            return service.core.cache.n_assumed == 0 and not in_queue

        eventually(lambda: scheduler.ask(is_quiet))
        wanted = fresh_columns(self.api.list("Node"), self.api.list("Pod"))
        try:
            eventually(lambda: scheduler.ask(columns) == wanted, interval=1)
        except AssertionError:
            found = scheduler.ask(columns)
            assert {key: each for key, each in found.items() if each != wanted.get(key)} == {
                key: each for key, each in wanted.items() if each != found.get(key)
            }
            raise
        scheduler.ask(lambda service: service.queue.validate())

    def check_events(self, scheduler: InProcess) -> None:
        """Every pod has its event, once, whatever it took to write it; and none was lost or refused."""
        eventually(lambda: scheduler.ask(lambda _: scheduler.broadcaster.n_queued == 0), timeout=BURST_SECONDS)
        counts = scheduler.ask(lambda _: scheduler.broadcaster.counts)
        print(f"events: {counts}")
        assert (counts.dropped, counts.expired, counts.refused) == (0, 0, 0)
        told = self.n_told()
        wrong = {each["metadata"]["name"]: told[each["metadata"]["uid"]] for each in self.api.list("Pod")}
        assert {name: count for name, count in wrong.items() if count != 1} == {}

    def n_told(self) -> Counter[str]:
        """How often each pod, by its uid, was told to be scheduled."""
        return Counter(
            each["regarding"]["uid"]
            for each in self.api.list("events.k8s.io/v1/Event", fieldSelector="reason=Scheduled")
        )


def columns(service: SchedulerService) -> Mapping[str, Any]:
    return shown(service.core.cache.snapshot())


def fresh_columns(nodes: Sequence[Object], pods: Sequence[Object]) -> Mapping[str, Any]:
    cache = Cache()
    for each in nodes:
        cache.set_node(Node.from_dict(each))
    for each in pods:
        if "nodeName" in each["spec"]:
            cache.add_pod(Pod.from_dict(each))
    return shown(cache.snapshot())


def make_node(name: str) -> Object:
    zone = f"z{sum(name.encode()) % 3}"
    return node(name, cpu=f"{PLACES * 100}m", memory="64Gi", labels={"zone": zone})


def make_pod(number: int) -> Object:
    return pod(f"pod-{number:05}", labels={"app": "abc"[number % 3]})
