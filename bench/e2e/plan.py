"""The order of the phases: kube-scheduler and Bayplan alternately, every second pair in the opposite order (ABBA).

So other load on the machine, and the growth of the API server, favours neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

import msgspec

from bench.e2e.workload import Workload


class Contestant(StrEnum):
    """The schedulers, by their names in the records."""

    KUBE = "kube-scheduler"
    BAYPLAN = "bayplan"
    NULL = "null"
    NULL_EVENTS = "null with events"

    @property
    def is_null(self) -> bool:
        return self in (Contestant.NULL, Contestant.NULL_EVENTS)


class Mode(StrEnum):
    """How pods arrive."""

    BURST = "burst"  # all exist before the scheduler starts
    STREAM = "stream"  # as fast as they can be created, while they are scheduled
    LATENCY = "latency"  # at a fixed rate
    DECISIONS = "decisions"  # a burst, with one thread and all nodes, to compare the choices


class Step(msgspec.Struct, frozen=True):
    """One phase to run."""

    workload: str
    mode: Mode
    n_nodes: int
    scheduler: Contestant
    #: Phases with the same number are compared with each other.
    pair: int

    def __str__(self) -> str:
        return f"{self.workload} {self.mode}, {self.n_nodes} nodes, {self.scheduler}, pair {self.pair + 1}"


DEFAULT_SIZES = (500, 5_000)
#: The default modes of a workload.
_DEFAULT_MODES = {"basic": (Mode.BURST, Mode.STREAM, Mode.LATENCY)}
#: The control is measured only in these pairs: its figures vary less.
N_NULL_PAIRS = 2
#: Smaller clusters only show the trend.
N_SMALL_PAIRS = 2


def modes_of(workload: Workload, requested: Sequence[Mode]) -> tuple[Mode, ...]:
    modes = tuple(requested) or _DEFAULT_MODES.get(workload.name, (Mode.BURST,))
    return tuple(mode for mode in modes if mode is Mode.BURST or not workload.burst_only)


def make(
    workloads: Sequence[Workload], modes: Sequence[Mode], sizes: Sequence[int], *, pairs: int, decisions: bool
) -> list[Step]:
    """All steps, in order; small clusters first, because they grow into large ones.

    Without *sizes* a workload has its own, or the default ones.

    Choices are compared on the smallest cluster, because kube-scheduler scores every node then.
    """
    steps: list[Step] = []
    sizes_of = {workload.name: tuple(sizes) or workload.sizes or DEFAULT_SIZES for workload in workloads}
    for n_nodes in sorted({size for each in sizes_of.values() for size in each}):
        for workload in workloads:
            own = sizes_of[workload.name]
            if n_nodes not in own:
                continue
            n_pairs = pairs if n_nodes == max(own) else min(pairs, N_SMALL_PAIRS)
            for mode in modes_of(workload, modes):
                steps += _pairs(workload, mode, n_nodes, n_pairs)
            if decisions and n_nodes == min(own) and workload.has_known_order:
                steps += _pair(workload.name, Mode.DECISIONS, n_nodes, 0)
    return steps


def _pairs(workload: Workload, mode: Mode, n_nodes: int, pairs: int) -> Iterator[Step]:
    with_null = _null_pairs(pairs) if workload.has_null and mode is Mode.BURST else set()
    for pair in range(pairs):
        yield from _pair(workload.name, mode, n_nodes, pair)
        if pair in with_null:
            for control in (Contestant.NULL_EVENTS, Contestant.NULL):
                yield Step(workload.name, mode, n_nodes, control, pair)


def _pair(name: str, mode: Mode, n_nodes: int, pair: int) -> list[Step]:
    steps = [Step(name, mode, n_nodes, who, pair) for who in (Contestant.KUBE, Contestant.BAYPLAN)]
    return steps[::-1] if pair % 2 else steps


def _null_pairs(pairs: int) -> set[int]:
    """Evenly spread over the run, including the first and the last."""
    n_null = min(max(N_NULL_PAIRS, pairs // 2), pairs)
    return {i * (pairs - 1) // max(n_null - 1, 1) for i in range(n_null)}
