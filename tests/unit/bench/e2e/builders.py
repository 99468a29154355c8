"""Phases for the tests of the end-to-end benchmark."""

from __future__ import annotations

from typing import Any

from bench.e2e.plan import Contestant, Mode, Step
from bench.e2e.record import Phase

KUBE, BAYPLAN = Contestant.KUBE, Contestant.BAYPLAN


def make_phase(
    who: Contestant = KUBE,
    pair: int = 0,
    *,
    workload: str = "basic",
    mode: Mode = Mode.BURST,
    n_nodes: int = 5_000,
    **figures: Any,
) -> Phase:
    """A phase of 101 pods: at a span of one second, 100 pods/s."""
    return Phase(step=Step(workload, mode, n_nodes, who, pair), **{"n_pods": 101, "span": 1.0, **figures})
