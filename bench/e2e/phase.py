"""One phase: one scheduler, from its start until the last pod is bound and the last event is written.

CPU is counted from the first bind, or, if the scheduler is already running, from the moment the pods are created
or released, until the last event is written, so that writing events later is no advantage. A phase whose pods are
not all bound is an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from time import perf_counter

import msgspec
from tests.e2e.control_plane import ControlPlane
from tests.e2e.processes import Process

from bayplan.version import IS_COMPILED
from bench.e2e import contestants, metrics, proc
from bench.e2e.api import IN_FLIGHT, Api, Call
from bench.e2e.driver import STREAM_CREATORS, Driver
from bench.e2e.plan import Mode, Step
from bench.e2e.proc import Costs
from bench.e2e.record import Phase
from bench.e2e.scene import EVENTS, PODS, Scene
from bench.e2e.statistics import percentile
from bench.e2e.workload import WARM_UP, Workload

#: The time without a bind after which a phase fails. Unschedulable pods are retried after five minutes.
STALL_SECONDS = 180.0
_POLL_SECONDS = 0.25
#: How long to wait for further events.
_QUIET_SECONDS = 2.0
#: Unschedulable pods back off for a second; then they can be released.
_BACKOFF_SECONDS = 1.5
_TAIL_LINES = 15


class PhaseError(Exception):
    """The phase failed; the message says why, with the end of the scheduler's log."""


class _Condition(msgspec.Struct):
    type: str
    status: str


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []


class _Tried(msgspec.Struct):
    status: _Status


class _TriedList(msgspec.Struct):
    items: list[_Tried] | None = None


class _Event(msgspec.Struct):
    reason: str = ""


class _EventList(msgspec.Struct):
    items: list[_Event] | None = None


class PhaseRun:
    """See the module docstring; `run` is called once."""

    def __init__(
        self, step: Step, workload: Workload, n_pods: int, plane: ControlPlane, api: Api, scene: Scene
    ) -> None:
        self._step, self._workload = step, workload
        self._plane, self._api, self._scene = plane, api, scene
        self._driver = Driver(api, workload, n_pods)
        self._process: Process
        self._started_at = 0.0
        #: CPU time at the start and at the end of the measurement.
        self._before = self._after = Costs(0, 0, 0)
        self._counted_from = 0.0
        self._backlog = 0.0

    async def run(self) -> Phase:
        # 1. Set up the cluster for the workload; in a burst, with the pods.
        # 2. Start the scheduler.
        # 3. Wait until every pod is bound and every event written.
        # 4. Compute the costs.
        began, at = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
        await self._scene.prepare(self._workload, self._step.n_nodes)
        if self._are_before:
            await self._driver.create(creators=IN_FLIGHT)
            await self._scene.await_claims(self._workload)
        await self._scene.rest()
        handled, sent = await self._api.handled_requests(), Counter(self._api.sent)
        async with self._driver.watching(), self._scheduler():
            await self._schedule()
            await self._write_events()
            peak_mb = proc.peak_mb(self._process.pid)
        requests, refused = metrics.between(handled, await self._api.handled_requests(), self._api.sent - sent)
        events = await self._count_events()
        return msgspec.structs.replace(
            self._phase(),
            at=at,
            seconds=round(time.monotonic() - began, 1),
            peak_mb=round(peak_mb, 1),
            requests=requests,
            refused=refused,
            events=events,
        )

    @property
    def _are_before(self) -> bool:
        """Whether the pods exist before the scheduler starts."""
        return self._step.mode in (Mode.BURST, Mode.DECISIONS) and not self._workload.from_creation

    # --- 2. the scheduler -------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _scheduler(self) -> AsyncIterator[None]:
        self._started_at = perf_counter()
        self._process = contestants.start(
            self._step.scheduler,
            self._plane,
            self._workload,
            n_nodes=self._step.n_nodes,
            deterministic=self._step.mode is Mode.DECISIONS,
        )
        try:
            yield
        finally:
            self._process.stop()

    def _costs(self) -> Costs:
        return Costs(
            *(
                proc.cpu_seconds(process.pid)
                for process in (self._process, self._plane.api_server, self._plane.etcd)
            )
        )

    async def _schedule(self) -> None:
        """Run until every pod is bound."""
        self._driver.on_last = self._end_counting
        if self._workload.release is not None:
            await self._wait_until(self._all_tried)
            await asyncio.sleep(_BACKOFF_SECONDS)
            self._begin_counting()
            await self._beside(self._scene.release(self._workload, self._step.n_nodes))
        elif self._are_before:
            self._driver.on_first = self._begin_counting
            await self._beside(self._churn())
        else:
            await self._warm_up()
            self._begin_counting()
            steadily = self._step.mode is Mode.LATENCY
            await self._beside(
                self._driver.create_steadily() if steadily else self._driver.create(creators=STREAM_CREATORS)
            )

    def _begin_counting(self) -> None:
        self._before, self._counted_from = self._costs(), perf_counter()

    def _end_counting(self) -> None:
        self._after = self._costs()

    async def _warm_up(self) -> None:
        """Wait until the scheduler is ready: it has bound a pod that is not measured."""
        await self._api.send(Call("POST", PODS, self._workload.warm_up_pod()))
        await self._wait_until(self._is_warm)

    async def _is_warm(self) -> bool:
        return WARM_UP in self._driver.nodes

    async def _all_tried(self) -> bool:
        """Whether the scheduler has reported every pod as unschedulable."""
        listed: _TriedList = await self._api.get(PODS, _TriedList)
        return all(
            any(each.type == "PodScheduled" and each.status == "False" for each in pod.status.conditions)
            for pod in listed.items or ()
        )

    async def _churn(self) -> None:
        if self._workload.churn is None:
            return
        i = 0
        while not self._driver.all_bound.is_set():
            await self._api.send(Call("POST", PODS, self._workload.churn_pod(i)))
            await asyncio.sleep(self._workload.churn.every_ms / 1000)
            i += 1

    # --- 3. waiting -------------------------------------------------------------------------------

    async def _beside(self, work: Awaitable[None]) -> None:
        """Wait until all pods are bound, while another task runs."""
        task = asyncio.ensure_future(work)
        try:
            await self._wait_for_binds(task)
            await task
        finally:
            task.cancel()

    async def _wait_for_binds(self, beside: asyncio.Future[None]) -> None:
        n_seen, seen_at = 0, time.monotonic()
        while not self._driver.all_bound.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._driver.all_bound.wait(), 1)
            if len(self._driver.bound_at) > n_seen:
                n_seen, seen_at = len(self._driver.bound_at), time.monotonic()
            if beside.done():
                beside.result()  # raises if it has failed
            self._check(seen_at)

    async def _wait_until(self, check: Callable[[], Awaitable[bool]]) -> None:
        began = time.monotonic()
        while not await check():
            self._check(began)
            await asyncio.sleep(_POLL_SECONDS)

    def _check(self, moved_at: float) -> None:
        """Raise if the scheduler has exited, or has been idle for too long."""
        self._driver.check()
        if not self._process.running:
            raise self._error(f"the scheduler exited with code {self._process.returncode}")
        if time.monotonic() - moved_at > STALL_SECONDS and not self._driver.all_bound.is_set():
            raise self._error(f"no progress for {STALL_SECONDS:g} s")

    def _error(self, what: str) -> PhaseError:
        missing = self._driver.missing
        some = ", ".join(missing[:5])
        return PhaseError(
            f"{self._step}: {what}; {len(missing)} of {len(self._driver.names)} pods are not bound ({some} …)\n"
            f"The end of the scheduler log:\n{self._process.tail(_TAIL_LINES)}"
        )

    async def _write_events(self) -> None:
        """Wait until the scheduler has written its events: one per pod, or no more arrive."""
        bound_at = grown_at = perf_counter()
        n_events, n_wanted = 0, len(self._driver.names)
        while perf_counter() - grown_at < _QUIET_SECONDS:
            n_now = await self._api.count(EVENTS)
            if n_now > n_events:
                n_events, grown_at = n_now, perf_counter()
                self._end_counting()
            if n_events >= n_wanted and self._workload.only_scheduled_events:
                break
            await asyncio.sleep(_POLL_SECONDS)
        self._backlog = grown_at - bound_at

    async def _count_events(self) -> dict[str, int]:
        listed: _EventList = await self._api.get(EVENTS, _EventList)
        return dict(Counter(each.reason for each in listed.items or ()))

    # --- 4. costs ---------------------------------------------------------------------------------

    def _phase(self) -> Phase:
        driver, n_pods = self._driver, len(self._driver.names)
        spent = self._after.since(self._before)
        waits = [] if self._are_before else driver.waits()
        per_node = Counter(Counter(driver.placements()).values())
        return Phase(
            compiled=IS_COMPILED,
            step=self._step,
            n_pods=n_pods,
            start_to_first_bind=round(min(driver.bound_at.values()) - self._started_at, 3),
            span=round(self._span(), 4),
            backlog=round(self._backlog, 2),
            scheduler_ms=_per_pod(spent.scheduler, n_pods),
            api_server_ms=_per_pod(spent.api_server, n_pods),
            etcd_ms=_per_pod(spent.etcd, n_pods),
            whole_ms=_per_pod(self._after.scheduler, n_pods),
            p50_ms=round(1000 * percentile(waits, 50), 2) if waits else 0.0,
            p99_ms=round(1000 * percentile(waits, 99), 2) if waits else 0.0,
            pods_per_node=dict(sorted(per_node.items())),
            placements=driver.placements() if self._step.mode is Mode.DECISIONS else [],
        )

    def _span(self) -> float:
        """From the first bind to the last; if work starts long before a bind, from its start."""
        if self._workload.from_creation or self._workload.release is not None:
            return max(self._driver.bound_at.values()) - self._counted_from
        return self._driver.span


def _per_pod(seconds: float, n_pods: int) -> float:
    """CPU time in milliseconds."""
    return round(1000 * seconds / n_pods, 4)
