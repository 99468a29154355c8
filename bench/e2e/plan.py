"""The order of the phases: kube-scheduler and Bayplan in turn, every second pair the other way round (ABBA).

So what else the machine does, and what the API server has grown to, favours neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

import msgspec

from bench.e2e.workload import Workload


class Contestant(StrEnum):
    """The schedulers, by the names that the records have."""

    KUBE = "kube-scheduler"
    BAYPLAN = "bayplan"
    NULL = "null"
    NULL_EVENTS = "null with events"

    @property
    def is_null(self) -> bool:
        return self in (Contestant.NULL, Contestant.NULL_EVENTS)


class Mode(StrEnum):
    """How the pods come."""

    BURST = "burst"  # all are there before the scheduler
    STREAM = "stream"  # as fast as they can be created, while they are scheduled
    LATENCY = "latency"  # so many a second
    DECISIONS = "decisions"  # a burst, with one thread and all nodes, to compare the choices


class Step(msgspec.Struct, frozen=True):
    """One phase to be done."""

    workload: str
    mode: Mode
    n_nodes: int
    scheduler: Contestant
    #: Phases of the same number are compared with each other.
    pair: int

    def __str__(self) -> str:
        return f"{self.workload} {self.mode}, {self.n_nodes} nodes, {self.scheduler}, pair {self.pair + 1}"


#: Which modes a workload is measured in, where it makes sense and the command line does not say.
_DEFAULT_MODES = {"basic": (Mode.BURST, Mode.STREAM, Mode.LATENCY)}
#: The control is taken in these pairs only: its figures vary less.
N_NULL_PAIRS = 2
#: Clusters smaller than the largest show the trend.
N_SMALL_PAIRS = 2


def modes_of(workload: Workload, asked: Sequence[Mode]) -> tuple[Mode, ...]:
    modes = tuple(asked) or _DEFAULT_MODES.get(workload.name, (Mode.BURST,))
    return tuple(mode for mode in modes if mode is Mode.BURST or not workload.burst_only)


def make(
    workloads: Sequence[Workload], modes: Sequence[Mode], sizes: Sequence[int], *, pairs: int, decisions: bool
) -> list[Step]:
    """All steps, in order; small clusters first, because they grow into large ones.

    Choices are compared on the smallest cluster: kube-scheduler is to look at every node then.
    """
    steps: list[Step] = []
    for n_nodes in sorted(sizes):
        n_pairs = pairs if n_nodes == max(sizes) else min(pairs, N_SMALL_PAIRS)
        for workload in workloads:
            for mode in modes_of(workload, modes):
                steps += _pairs(workload, mode, n_nodes, n_pairs)
            if decisions and n_nodes == min(sizes) and workload.has_known_order:
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
    """Spread over the run: the first, the last, and what is between."""
    n_null = min(max(N_NULL_PAIRS, pairs // 2), pairs)
    return {i * (pairs - 1) // max(n_null - 1, 1) for i in range(n_null)}
