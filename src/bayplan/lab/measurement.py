"""Measurement: what is noted down while a simulation runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bayplan.lab.gpu_demand import node_gpu_milli, pod_gpu_milli
from bayplan.lab.results import Results
from bayplan.model import CPU, MEMORY

if TYPE_CHECKING:
    from bayplan.model import Node, Pod


class _PodRow:
    """One pod of the trace."""

    __slots__ = ("amounts", "attempts", "bound", "ended", "name", "node", "preempted", "time")

    def __init__(self, name: str, time: float, amounts: tuple[int, int, int]) -> None:
        self.name = name
        self.time = time
        self.bound = self.ended = math.nan
        self.node = ""
        self.attempts = 0
        self.preempted = False
        #: cpu in thousandths, memory in bytes, GPUs in thousandths.
        self.amounts = amounts


class Measurement:
    """Told by the simulation; sums are kept, so that a sample costs the same in every cluster."""

    def __init__(self, start: float) -> None:
        self._start = start
        self._rows: list[_PodRow] = []
        self._row_of: dict[str, _PodRow] = {}
        self._nodes: dict[str, tuple[int, int, int]] = {}
        self._capacity = [0, 0, 0]
        self._arrived = [0, 0, 0]
        self._allocated = [0, 0, 0]
        self._n_pending = self._n_preempted = 0
        self._samples: list[tuple[float, ...]] = []

    def arrived(self, pod: Pod, time: float) -> None:
        requests = pod.requests
        amounts = (requests.get(CPU, 0), requests.get(MEMORY, 0), pod_gpu_milli(pod))
        row = self._row_of[pod.uid] = _PodRow(pod.key, time - self._start, amounts)
        self._rows.append(row)
        self._n_pending += 1
        _add(self._arrived, amounts, 1)

    def attempted(self, pod: Pod) -> None:
        row = self._row_of.get(pod.uid)
        if row is not None:
            row.attempts += 1

    def bound(self, pod: Pod, time: float) -> None:
        row = self._row_of[pod.uid]
        row.bound, row.node = time - self._start, pod.node_name
        self._n_pending -= 1
        _add(self._allocated, row.amounts, 1)

    def ended(self, pod: Pod, time: float) -> None:
        row = self._row_of.pop(pod.uid)
        row.ended = time - self._start
        if row.node:
            _add(self._allocated, row.amounts, -1)
        else:
            self._n_pending -= 1

    def preempted(self, pod: Pod, time: float) -> None:
        row = self._row_of.get(pod.uid)
        if row is not None:
            row.preempted = True
            self._n_preempted += 1
            self.ended(pod, time)

    def node_changed(self, name: str, node: Node | None) -> None:
        _add(self._capacity, self._nodes.pop(name, (0, 0, 0)), -1)
        if node is not None:
            amounts = node.allocatable
            self._nodes[name] = (amounts.get(CPU, 0), amounts.get(MEMORY, 0), node_gpu_milli(node))
            _add(self._capacity, self._nodes[name], 1)

    def sample(self, time: float) -> None:
        counts = (self._n_pending, self._n_preempted)
        row = (time - self._start, *self._capacity, *self._arrived, *self._allocated, *counts)
        if self._samples and self._samples[-1][0] == row[0]:
            self._samples.pop()  # more has happened at the same time
        self._samples.append(row)

    def results(self) -> Results:
        rows = self._rows
        cpu, memory, gpu = np.array([row.amounts for row in rows], dtype=np.int64).reshape(-1, 3).T
        pods = {
            "name": np.array([row.name for row in rows], dtype=object),
            "arrival_seconds": np.array([row.time for row in rows], dtype=np.float64),
            "bound_seconds": np.array([row.bound for row in rows], dtype=np.float64),
            "end_seconds": np.array([row.ended for row in rows], dtype=np.float64),
            "node": np.array([row.node for row in rows], dtype=object),
            "attempts": np.array([row.attempts for row in rows], dtype=np.int64),
            "preempted": np.array([row.preempted for row in rows], dtype=bool),
            "cpu_milli": cpu,
            "memory_bytes": memory,
            "gpu_milli": gpu,
        }
        names = [f"{what}_{name}" for what in ("capacity", "arrived", "allocated") for name in UNITS]
        table = np.array(self._samples, dtype=np.float64).reshape(-1, 3 + len(names)).T
        samples = dict(zip(("time_seconds", *names, "pending_pods", "preemptions"), table, strict=True))
        return Results(pods, samples)


UNITS = ("cpu_milli", "memory_bytes", "gpu_milli")


def _add(sums: list[int], amounts: tuple[int, int, int], sign: int) -> None:
    for index, amount in enumerate(amounts):
        sums[index] += sign * amount
