"""CPU time and memory of processes, from /proc."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


class Costs(NamedTuple):
    """CPU seconds so far."""

    scheduler: float
    api_server: float
    etcd: float

    def since(self, before: Costs) -> Costs:
        return Costs(*(now - then for now, then in zip(self, before, strict=True)))


def cpu_seconds(pid: int) -> float:
    """User and system time of the process with all its threads, and of its children."""
    return sum(_own_cpu_seconds(each) for each in _family(pid))


def peak_mb(pid: int) -> float:
    """Peak resident memory; the sum over the process and its children."""
    return sum(_peak_kb(each) for each in _family(pid)) / 1024


def cpu_ticks(stat: str) -> int:
    """utime and stime, including those of finished children, from the text of /proc/PID/stat."""
    after_name = stat.rpartition(")")[2].split()  # the name may contain spaces and parentheses
    return sum(map(int, after_name[11:15]))


def _own_cpu_seconds(pid: int) -> float:
    try:
        return cpu_ticks((_PROC / str(pid) / "stat").read_text()) / _TICKS_PER_SECOND
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def _peak_kb(pid: int) -> int:
    try:
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def _family(pid: int) -> Iterator[int]:
    yield pid
    for task in (_PROC / str(pid) / "task").glob("*/children"):
        try:
            children = task.read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in children:
            yield from _family(int(child))
