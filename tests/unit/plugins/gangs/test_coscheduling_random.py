"""Coscheduling on random gangs in virtual time: no half gangs, no endless waiting, no deadlock."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.plugins.gangs.support import Gangs, MakeGangs, closing_gangs, make_group, make_member

from bayplan.model import Pod
from bayplan.shell.played_cluster import Timing
from bayplan.testing import make_pod

TIMEOUT_SECONDS = 4
LOOK_SECONDS = 0.5
#: Long enough for the queue to have tried everybody again who was left over: 5 minutes, looked for twice a minute.
END_SECONDS = 340.0
#: Every backoff and every wait is over by then; and so long nobody is looked after.
CALM_SECONDS = 60.0
QUIET_SECONDS = 200.0


class Gang(NamedTuple):
    n_members: int
    min_member: int


class World(NamedTuple):
    """All pods want one cpu, so that a gang fits if there are so many free."""

    node_cpus: list[int]
    gangs: list[Gang]
    n_plain: int
    #: How many plain pods are deleted later.
    n_deleted: int
    reject_percentage: int
    lag_seconds: float


@st.composite
def worlds(draw: st.DrawFn) -> World:
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    gangs = [Gang(size, draw(st.integers(1, size))) for size in sizes]
    n_plain = draw(st.integers(0, 4))
    return World(
        draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)),
        gangs,
        n_plain,
        draw(st.integers(0, n_plain)),
        draw(st.sampled_from([0, 10, 50])),
        draw(st.sampled_from([0.0, 0.1])),
    )


class Watcher:
    """Looks at a cluster now and then, and complains."""

    def __init__(self, gangs: Gangs, min_members: dict[str, int]) -> None:
        self._gangs = gangs
        self._min_members = min_members
        #: Pod and number of its attempt → for how long it has been seen waiting.
        self._seen: dict[tuple[str, int], float] = {}

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / LOOK_SECONDS)):
            self._gangs.run(LOOK_SECONDS)
            self._check_whole()
            self._check_waiting()

    def _check_whole(self) -> None:
        for group, count in self._gangs.bound.items():
            assert count >= self._min_members.get(group, 0), f"{count} of {group} are bound"

    def _check_waiting(self) -> None:
        attempts = self._gangs.attempts
        now = {(name, attempts[f"default/{name}"]) for name in self._gangs.waiting}
        self._seen = {key: self._seen.get(key, 0.0) + LOOK_SECONDS for key in now}
        late = [key for key, waited in self._seen.items() if waited > TIMEOUT_SECONDS + 2 * LOOK_SECONDS]
        assert not late, f"still waiting: {late}"


@settings(max_examples=60)
@given(world=worlds())
def test_gangs_are_whole_and_what_fits_is_placed(world: World) -> None:
    """Bound members are none or enough, nobody waits beyond the timeout, and no gang is left out that fits."""
    with closing_gangs() as make:
        gangs = _played(make, world)
        plain = [gangs.pods[f"default/plain-{i}"] for i in range(world.n_plain)]
        watcher = Watcher(gangs, _min_members(world))
        watcher.run(10)
        gangs.delete(*plain[: world.n_deleted])
        watcher.run(10)
        gangs.run(END_SECONDS)
        watcher.run(10)

        bound = gangs.bound
        free = sum(world.node_cpus) - sum(bound.values())
        left_out = [name for name, count in _min_members(world).items() if name not in bound and count <= free]
        assert left_out == []


@settings(max_examples=60)
@given(world=worlds())
def test_gangs_come_to_rest(world: World) -> None:
    """Where nothing happens any more, nobody is tried until the queue looks after those it may have forgotten."""
    with closing_gangs() as make:
        gangs = _played(make, world)
        gangs.run(CALM_SECONDS)
        tried = gangs.attempts.total()
        gangs.run(QUIET_SECONDS)

        assert gangs.attempts.total() == tried


def _played(make: MakeGangs, world: World) -> Gangs:
    timing = Timing(attempt_seconds=0.25, lag_seconds=world.lag_seconds)
    nodes = {f"n{i}": cpus for i, cpus in enumerate(world.node_cpus)}
    options = {"permitWaitingTimeSeconds": TIMEOUT_SECONDS, "podGroupRejectPercentage": world.reject_percentage}
    gangs = make(nodes, timing=timing, **options)
    gangs.add(*(make_pod(f"plain-{i}", cpu="1") for i in range(world.n_plain)))
    gangs.add(*(make_group(name, count) for name, count in _min_members(world).items()), *_members(world))
    return gangs


def _min_members(world: World) -> dict[str, int]:
    return {f"g{i}": gang.min_member for i, gang in enumerate(world.gangs)}


def _members(world: World) -> list[Pod]:
    return [make_member(f"g{i}-{j}", f"g{i}") for i, gang in enumerate(world.gangs) for j in range(gang.n_members)]
