"""The aims of the benchmark: Bayplan compared with kube-scheduler, on 5,000 nodes; with devices, on fewer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bench.e2e.groups import Groups
from bench.e2e.plan import Contestant, Mode
from bench.e2e.record import Phase
from bench.e2e.statistics import Figure, ratio, spread

N_NODES = 5_000
#: Where kube-scheduler searches every node for every pod, it needs minutes for a few hundred pods.
N_DEVICE_NODES = 2_000
#: For every node it looks at the counters of all nodes: at 2,000 nodes it binds three pods in three minutes.
N_COUNTER_NODES = 200
LEAST_NULL_SHARE = 0.75


class Row(NamedTuple):
    """Workloads with the same aims: the maximum ratio of CPU per pod, and the minimum ratio of pods/s."""

    workloads: tuple[str, ...]
    most_cpu: float
    least_speed: float
    n_nodes: int = N_NODES


ROWS = (
    Row(("basic", "mixed", "nodeaffinity"), 1 / 4, 1.6),
    Row(("prefspread", "spread"), 1 / 6, 2.5),
    Row(("prefaffinity",), 1 / 6, 3),
    Row(("antiaffinity",), 1 / 10, 4),
    Row(("defaultspread",), 1 / 8, 3),
    Row(("preemption", "unschedulable", "events-delete", "events-labels", "events-nodes"), 1 / 3, 1.5),
    Row(("devices",), 1 / 20, 10, N_DEVICE_NODES),
    Row(("devices-full", "devices-first"), 1 / 4, 2, N_DEVICE_NODES),
    Row(("devices-counters",), 1 / 4, 2, N_COUNTER_NODES),
)


class Aim(NamedTuple):
    """One aim with the measured value."""

    workload: str
    what: str
    wanted: str
    #: Empty if it was not measured.
    found: str
    reached: bool | None


# --- figures of a phase -----------------------------------------------------------------------------------


def scheduler_cpu(phase: Phase) -> float:
    return phase.scheduler_ms


def speed(phase: Phase) -> float:
    return phase.pods_per_second


def first_bind(phase: Phase) -> float:
    return phase.start_to_first_bind


def p99(phase: Phase) -> float:
    return phase.p99_ms


def memory(phase: Phase) -> float:
    return phase.peak_mb


def null_share(phases: Sequence[Phase], null: Contestant = Contestant.NULL_EVENTS) -> float | None:
    """The ratio of Bayplan's pods/s to the null scheduler's, medians of both."""
    ours, ceiling = spread(phases, Contestant.BAYPLAN, speed), spread(phases, null, speed)
    return ours.median / ceiling.median if ours and ceiling else None


# --- the aims ---------------------------------------------------------------------------------------------


class _Other(NamedTuple):
    what: str
    workload: str
    mode: Mode
    figure: Figure
    is_reached: Callable[[float], bool]
    wanted: str


_OTHERS = (
    _Other("p99 create→bound at 100 pods/s", "basic", Mode.LATENCY, p99, lambda found: found <= 1, "≤ 1"),
    _Other("peak memory with 30,000 pods", "memory", Mode.BURST, memory, lambda found: found <= 2, "≤ 2"),
    _Other(
        "start to first bind with 30,000 pods", "memory", Mode.BURST, first_bind, lambda found: found <= 2, "≤ 2"
    ),
    _Other("pods/s with a per-node plugin", "plugin", Mode.BURST, speed, lambda found: found >= 1, "≥ 1"),
)


def of_workloads(groups: Groups) -> list[tuple[Aim, Aim]]:
    """The aims for CPU and speed of each workload in the table."""
    return [
        _pair(row, name, groups.get((name, Mode.BURST, row.n_nodes), ())) for row in ROWS for name in row.workloads
    ]


def others(groups: Groups, n_nodes: int = N_NODES) -> list[Aim]:
    """The aims for single workloads."""
    aims = [_ceiling(groups.get(("basic", Mode.BURST, n_nodes), ()))]
    for each in _OTHERS:
        found = ratio(groups.get((each.workload, each.mode, n_nodes), ()), each.figure)
        shown = f"{found.median:.2f}" if found else ""
        reached = each.is_reached(found.median) if found else None
        aims.append(Aim(each.workload, each.what, each.wanted, shown, reached))
    return aims


def _pair(row: Row, name: str, phases: Sequence[Phase]) -> tuple[Aim, Aim]:
    cpu, faster = ratio(phases, scheduler_cpu), ratio(phases, speed)
    return (
        Aim(
            name,
            "scheduler CPU per pod",
            f"≤ 1/{1 / row.most_cpu:.0f}",
            f"1/{1 / cpu.median:.1f}" if cpu and cpu.median else "",
            cpu.median <= row.most_cpu if cpu and cpu.median else None,
        ),
        Aim(
            name,
            "pods/s",
            f"≥ {row.least_speed:g}",
            f"{faster.median:.2f}" if faster else "",
            faster.median >= row.least_speed if faster else None,
        ),
    )


def _ceiling(phases: Sequence[Phase]) -> Aim:
    share = null_share(phases)
    found, reached = (f"{share:.0%}", share >= LEAST_NULL_SHARE) if share is not None else ("", None)
    return Aim("basic", "share of the null ceiling, with events", f"≥ {LEAST_NULL_SHARE:.0%}", found, reached)
