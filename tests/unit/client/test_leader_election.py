"""Leader election in virtual time, on a lease in memory."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from tests.unit.client.doubles import LoopClock

from bayplan.client.errors import ConflictError, NotFoundError, TransportError
from bayplan.client.flow_control import Random
from bayplan.client.leader_election import ElectionTimes, LeaderElector, Outcome
from bayplan.client.lease_lock import LeaseLock, new_identity
from bayplan.config.duration import Duration
from bayplan.config.types import LeaderElectionConfiguration

TIMES = ElectionTimes()


class LeaseStore:
    """The API server's side: one lease, optimistic concurrency."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.events: list[str] = []
        self.n_writes = 0
        #: When it was last written, by the loop's clock.
        self.written_at = 0.0

    @property
    def holder(self) -> str:
        return self.lease["spec"]["holderIdentity"] if self.lease else ""

    def put(self, lease: Any) -> dict[str, Any]:
        self.version += 1
        self.n_writes += 1
        self.written_at = asyncio.get_running_loop().time()
        self.lease = {**lease, "metadata": {**lease["metadata"], "resourceVersion": str(self.version), "uid": "L"}}
        return self.lease


class StoreClient:
    """One replica's way to the store, which can be cut."""

    def __init__(self, store: LeaseStore) -> None:
        self.store = store
        self.reachable = True
        self.hangs = False

    async def _reach(self) -> None:
        if self.hangs:
            await asyncio.sleep(1e6)
        if not self.reachable:
            raise TransportError("refused", sent=False)

    async def get_lease(self, namespace: str, name: str) -> dict[str, Any]:
        await self._reach()
        if self.store.lease is None:
            raise NotFoundError(404)
        return self.store.lease

    async def create_lease(self, namespace: str, lease: object) -> dict[str, Any]:
        await self._reach()
        if self.store.lease is not None:
            raise ConflictError(409, reason="AlreadyExists")
        return self.store.put(lease)

    async def update_lease(self, namespace: str, name: str, lease: Any) -> dict[str, Any]:
        await self._reach()
        if lease["metadata"].get("resourceVersion") != str(self.store.version):
            raise ConflictError(409, reason="Conflict")
        return self.store.put(lease)

    async def create_core_event(self, namespace: str, event: Any) -> None:
        self.store.events.append(event["message"])


class Replica:
    def __init__(
        self, store: LeaseStore, name: str, *, times: ElectionTimes = TIMES, rng: Random = lambda: 0.0
    ) -> None:
        self.client = StoreClient(store)
        self.n_started = 0
        clock = LoopClock()
        lock = LeaseLock(self.client, clock, namespace="kube-system", name="kube-scheduler", identity=name)
        self.elector = LeaderElector(lock, times, clock, on_started=self._started, rng=rng)
        self.task = asyncio.create_task(self.elector.run())

    def _started(self) -> None:
        self.n_started += 1


@pytest.fixture
def store() -> LeaseStore:
    return LeaseStore()


async def leading(store: LeaseStore, name: str = "a") -> Replica:
    replica = Replica(store, name)
    await asyncio.sleep(0.1)
    assert replica.elector.is_leader()
    return replica


async def finish(*replicas: Replica) -> None:
    for replica in replicas:
        replica.elector.stop()
    await asyncio.gather(*(replica.task for replica in replicas))


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_first_one_creates_and_renews(store: LeaseStore) -> None:
    replica = await leading(store)
    await asyncio.sleep(20)
    assert store.lease is not None
    assert store.lease["spec"] == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2027-01-15T08:00:00.000000Z",
        "renewTime": "2027-01-15T08:00:20.000000Z",
        "leaseTransitions": 0,
    }
    assert store.n_writes == 11
    await finish(replica)
    assert replica.n_started == 1
    assert not replica.elector.is_leader()
    assert store.events == ["a became leader", "a stopped leading"]


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_second_one_waits(store: LeaseStore) -> None:
    first, second = await leading(store), Replica(store, "b")
    await asyncio.sleep(100)
    assert first.elector.is_leader()
    assert not second.elector.is_leader()
    assert store.holder == "a"
    await finish(first, second)
    assert second.n_started == 0


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_released_lease_is_taken_at_once(store: LeaseStore) -> None:
    first, second = await leading(store), Replica(store, "b")
    await asyncio.sleep(5)
    first.elector.stop()
    assert await first.task is Outcome.STOPPED
    assert store.holder == ""
    await asyncio.sleep(TIMES.retry_period + 0.1)
    assert second.elector.is_leader()
    assert store.lease is not None
    assert store.lease["spec"]["leaseTransitions"] == 1
    await finish(second)


@pytest.mark.asyncio
@pytest.mark.looptime
@pytest.mark.parametrize("seed", range(12))
async def test_dead_leader_is_followed_within_lease_and_retry(store: LeaseStore, seed: int) -> None:
    """Whenever it dies and whenever the others look: not before its lease has run out, and not much later."""
    stream = random.Random(seed)  # noqa: S311
    first = await leading(store)
    followers = [Replica(store, name, rng=stream.random) for name in ("b", "c")]
    await asyncio.sleep(20 + 2 * stream.random())
    first.task.cancel()
    loop = asyncio.get_running_loop()
    died, renewed = loop.time(), store.written_at
    while store.holder == "a":
        await asyncio.sleep(0.01)
    assert renewed + TIMES.lease <= store.written_at <= died + TIMES.lease + TIMES.retry_period
    assert sum(each.elector.is_leader() for each in followers) == 1
    await finish(*followers)


@pytest.mark.asyncio
@pytest.mark.looptime
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0], ids=["eager", "between", "lazy"])
async def test_follower_wakes_when_the_lease_runs_out(store: LeaseStore, share: float) -> None:
    """It takes the lease at the very moment, whatever the rhythm of its looks."""
    first, second = await leading(store), Replica(store, "b", rng=lambda: share)
    first.task.cancel()
    await asyncio.sleep(0.0)
    seen = asyncio.get_running_loop().time()  # its first look, right after
    while not second.elector.is_leader():
        await asyncio.sleep(0.01)
    assert store.written_at == pytest.approx(seen + TIMES.lease, abs=0.002)
    await finish(second)


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_fractions_of_a_second_are_rounded_up(store: LeaseStore) -> None:
    """The others wait at least as long as the leader believes that it leads."""
    replica = Replica(store, "a", times=ElectionTimes(2.5, 2.2, 0.5))
    await asyncio.sleep(0.1)
    assert store.lease is not None
    assert store.lease["spec"]["leaseDurationSeconds"] == 3
    await finish(replica)


@pytest.mark.parametrize("how", ["unreachable", "hangs"])
@pytest.mark.asyncio
@pytest.mark.looptime
async def test_cut_off_leader_ends_before_another_starts(store: LeaseStore, how: str) -> None:
    first, second = await leading(store), Replica(store, "b")
    await asyncio.sleep(4.5)
    first.client.reachable, first.client.hangs = how != "unreachable", how == "hangs"
    for _ in range(400):
        await asyncio.sleep(0.1)
        assert not (first.elector.is_leader() and second.elector.is_leader())
    assert second.elector.is_leader()
    assert await first.task is Outcome.LOST
    assert first.n_started == 1
    await finish(second)


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_cut_off_leader_ends_at_the_renew_deadline(store: LeaseStore) -> None:
    first = await leading(store)
    await asyncio.sleep(5)
    first.client.reachable = False  # last renewed at 4.0
    await asyncio.sleep(14.0 - asyncio.get_running_loop().time() - 0.01)
    assert first.elector.is_leader()
    await asyncio.sleep(0.02)
    assert not first.elector.is_leader()
    assert await first.task is Outcome.LOST


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_short_outage_does_not_cost_the_lease(store: LeaseStore) -> None:
    first = await leading(store)
    first.client.reachable = False
    await asyncio.sleep(7)
    first.client.reachable = True
    await asyncio.sleep(30)
    assert first.elector.is_leader()
    await finish(first)


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_frozen_leader_knows_on_waking(store: LeaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGSTOP: nothing of ours runs, the clock goes on; the first thing asked afterwards is the clock."""
    first = await leading(store)
    monkeypatch.setattr(LoopClock, "monotonic", lambda self: asyncio.get_running_loop().time() + 60)
    assert not first.elector.is_leader()
    assert await first.task is Outcome.LOST


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_conflict_falls_back_to_reading(store: LeaseStore) -> None:
    """Somebody put a label on the lease."""
    first = await leading(store)
    store.put(store.lease)
    await asyncio.sleep(10)
    assert first.elector.is_leader()
    await finish(first)


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_usurped_leader_stops(store: LeaseStore) -> None:
    first = await leading(store)
    assert store.lease is not None
    store.put({**store.lease, "spec": {**store.lease["spec"], "holderIdentity": "b"}})
    assert await first.task is Outcome.LOST
    assert asyncio.get_running_loop().time() <= 2.2
    assert store.holder == "b"


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_race_for_a_new_lease_has_one_winner(store: LeaseStore) -> None:
    replicas = [Replica(store, name) for name in "abcde"]
    for _ in range(100):
        await asyncio.sleep(0.5)
        assert sum(replica.elector.is_leader() for replica in replicas) == 1
    await finish(*replicas)


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_stop_while_waiting(store: LeaseStore) -> None:
    first, second = await leading(store), Replica(store, "b")
    await asyncio.sleep(3)
    second.elector.stop()
    assert await second.task is Outcome.STOPPED
    assert store.holder == "a"
    await finish(first)


def test_times_come_from_the_configuration() -> None:
    config = LeaderElectionConfiguration(
        lease_duration=Duration.seconds(30), renew_deadline=Duration.seconds(20), retry_period=Duration.seconds(4)
    )
    assert ElectionTimes.of(config) == ElectionTimes(30, 20, 4)
    assert ElectionTimes.of(config).request_timeout == 10


def test_identities_differ() -> None:
    assert new_identity() != new_identity()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_a_leader_that_steps_down_frees_the_lease(
    store: LeaseStore, caplog: pytest.LogCaptureFixture
) -> None:
    """It may not write from that moment on; another replica leads without waiting for the lease to expire."""
    first = await leading(store)
    second = Replica(store, "b")
    await asyncio.sleep(3)
    first.elector.step_down("no decision for 30s")
    assert not first.elector.is_leader()
    assert await first.task is Outcome.STEPPED_DOWN
    await asyncio.sleep(TIMES.retry_period)
    assert second.elector.is_leader()
    (told,) = [record for record in caplog.records if record.message == "Stepping down as leader"]
    assert vars(told)["bayplan_pairs"]["err"] == "no decision for 30s"
    await finish(second)


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_only_a_leader_steps_down(store: LeaseStore) -> None:
    first = await leading(store)
    second = Replica(store, "b")
    await asyncio.sleep(1)
    second.elector.step_down("why")
    await asyncio.sleep(1)
    assert not second.task.done()
    await finish(first, second)
