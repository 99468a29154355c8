"""Pods that share GPUs: a plugin that hands out devices, and six policies that choose the node.

A pod says what it wants in annotations, a node what it has in an extended resource and a label, under the names
that Alibaba's GPU sharing uses. The devices that a pod got are in its annotation gpu-index: `0`, or `2-3`.
"""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from bayplan import Args, Plugin, Pod, Reads, Status

COUNT, MILLI = "alibabacloud.com/gpu-count", "alibabacloud.com/gpu-milli"
MODEL, INDEX = "alibabacloud.com/gpu-card-model", "alibabacloud.com/gpu-index"
WHOLE = 1000  # thousandths of a GPU
LARGEST_CPU, LARGEST_GPU = 128_000, 8_000  # of a node: what policies relate amounts to
SHARED = 0  # the kind of pods that share a GPU; the others are of the kind of their number of GPUs


class GpuRequest(NamedTuple):
    """What a pod wants: a part of one GPU, or whole ones."""

    count: int
    milli: int
    #: Any of these; none means any model.
    models: tuple[str, ...]

    @classmethod
    def of(cls, pod):
        """None if the pod wants no GPU; ValueError if it does not say what it wants."""
        notes = pod.annotations
        if COUNT not in notes and MILLI not in notes:
            return None
        count, milli = int(notes.get(COUNT, 1)), int(notes.get(MILLI, WHOLE))
        if not (count == 0 or (count == 1 and 0 < milli <= WHOLE) or (count > 1 and milli == WHOLE)):
            raise ValueError(f"{count} GPUs of {milli}/1000: a pod shares one GPU or takes whole ones")
        return (
            cls(count, milli, tuple(notes.get(MODEL, "").split("|")) if notes.get(MODEL) else ())
            if count
            else None
        )

    @property
    def kind(self):
        return SHARED if self.milli < WHOLE else self.count

    @property
    def total(self):
        return self.count * self.milli


class Devices:
    """Which pod has which device. A row for every node of the snapshot, a column for every device."""

    def __init__(self, handle):
        self._snapshot = handle.snapshot
        self._table = None
        #: Uid → (node, devices, thousandths of each, kind).
        self.taken = {}
        #: Who goes on after a reload of this file.
        self._successor = None
        #: How a shared device is chosen; a policy may have its own way.
        self.choose_shared = best_fit
        handle.informers.on_change(Pod, self._pod_changed)

    def _sync(self):
        """Rows are numbered anew when nodes come or go."""
        nodes = self._snapshot.nodes
        if nodes is self._table:
            return
        self._table = nodes
        self._row_of = {name: row for row, name in enumerate(nodes.names.tolist())}
        self._used = np.zeros((len(nodes), int(nodes.allocatable(COUNT).max(initial=1))), dtype=np.int64)
        self._kinds = np.zeros((len(nodes), self._used.shape[1] + 1), dtype=np.int64)
        for held in self.taken.values():
            self._count(held, 1)

    def _count(self, held, sign):
        node_name, devices, milli, kind = held
        row = self._row_of.get(node_name)
        if row is not None:
            self._used[row, devices] += sign * milli
            self._kinds[row, kind] += sign

    def free(self, nodes):
        """int64, shape (n_nodes, n_devices): what is left of each device; 0 for one that is not there."""
        self._sync()
        there = np.arange(self._used.shape[1]) < nodes.allocatable(COUNT)[:, None]
        return np.where(there, WHOLE - self._used[nodes.rows], 0)

    def kinds(self, nodes):
        """int64, shape (n_nodes, n_kinds): how many pods of each kind have devices."""
        self._sync()
        return self._kinds[nodes.rows]

    def take(self, uid, node_name, devices, request):
        self._sync()
        self.taken[uid] = (node_name, devices, request.milli, request.kind)
        self._count(self.taken[uid], 1)

    def take_over(self, old):
        """A reload: pods that are being bound may still give their devices back to *old*, which tells us."""
        self.taken, self._table, old._successor = dict(old.taken), None, self

    def release(self, uid):
        if self._successor is not None:
            self._successor.release(uid)
        self._sync()
        held = self.taken.pop(uid, None)
        if held is not None:
            self._count(held, -1)

    def _pod_changed(self, old, new):
        if new is None or new.is_terminal:
            self.release((new or old).uid)
        elif new.node_name and new.uid not in self.taken and INDEX in new.annotations:
            request = GpuRequest.of(new)
            if request is not None:
                self.take(new.uid, new.node_name, list(map(int, new.annotations[INDEX].split("-"))), request)


def best_fit(pod, request, node, free):
    """The device with the least left that is enough."""
    return int(np.argmin(np.where(free >= request.milli, free, WHOLE + 1)))


_DEVICES = WeakKeyDictionary()


def devices_of(handle):
    """The devices of a scheduler's nodes, one object for all of its plugins.

    Each plugin has a handle of its own; the waiting pods are those of the scheduler.
    """
    scheduler = handle.waiting_pods
    if scheduler not in _DEVICES:
        _DEVICES[scheduler] = Devices(handle)
    return _DEVICES[scheduler]


class GpuShare(Plugin):
    """Filters nodes by their GPUs, and gives a pod its devices."""

    name = "GpuShare"
    reads = Reads.USAGE

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.devices = devices_of(handle)

    def carry_over(self, old):
        self.devices.take_over(old.devices)

    def sign(self, pod):
        return pod.annotations.get(COUNT), pod.annotations.get(MILLI), pod.annotations.get(MODEL)

    def pre_filter(self, state, pod, nodes):
        try:
            request = GpuRequest.of(pod)
        except ValueError as error:
            return Status.unresolvable(f"annotations about GPUs cannot be understood: {error}")
        if request is None:
            return Status.skip()
        state.write(self.name, request)

    def filter_nodes(self, state, pod, nodes):
        request = state.read(self.name, GpuRequest)
        fits = (self.devices.free(nodes) >= request.milli).sum(axis=1) >= request.count
        verdict = nodes.reject(~fits, "node(s) had not enough free GPUs")
        if request.models:
            other = ~nodes.label(MODEL).isin(request.models)
            verdict = verdict.reject(other & fits, "node(s) had another GPU model")
        return verdict

    def reserve(self, state, pod, node_name):
        request = GpuRequest.of(pod)
        if request is None:
            return None
        nodes = self.handle.snapshot.nodes
        node = nodes.select(np.array([nodes.position(node_name)]))
        free = self.devices.free(node)[0]
        if request.kind == SHARED:
            chosen = [self.devices.choose_shared(pod, request, node, free)]
        else:
            chosen = np.flatnonzero(free == WHOLE)[: request.count].tolist()
        if len(chosen) < request.count or (free[chosen] < request.milli).any():
            return Status.unschedulable("node(s) had not enough free GPUs")
        self.devices.take(pod.uid, node_name, chosen, request)

    def unreserve(self, state, pod, node_name):
        self.devices.release(pod.uid)

    def pre_bind_pre_flight(self, state, pod, node_name):
        return None if pod.uid in self.devices.taken else Status.skip()

    async def pre_bind(self, state, pod, node_name):
        index = "-".join(map(str, self.devices.taken[pod.uid][1]))
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        await self.handle.client.request("PATCH", path, {"metadata": {"annotations": {INDEX: index}}})


class PolicyBase:
    """What the policies share: their score depends on what the pod asks for, and on the node and its pods."""

    reads = Reads.USAGE

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.devices = devices_of(handle)

    def sign(self, pod):
        return demand(pod)


def demand(pod):
    """Thousandths of CPUs, number of GPUs, thousandths of each."""
    request = GpuRequest.of(pod) or GpuRequest(0, 0, ())
    return pod.requests.get("cpu", 0), request.count, request.milli


def cpu_left(nodes):
    return nodes.allocatable("cpu") - nodes.requested("cpu")


class RandomNode(PolicyBase, Plugin):
    """Any node, any device."""

    name = "Random"
    reads = Reads.ANYTHING

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.random = np.random.default_rng(handle.seed)
        self.devices.choose_shared = self._choose

    def _choose(self, pod, request, node, free):
        return int(self.random.choice(np.flatnonzero(free >= request.milli)))

    def score_nodes(self, state, pod, nodes):
        scores = np.zeros(len(nodes), dtype=np.int64)
        scores[self.random.integers(len(nodes))] = 100
        return scores


class DotProd(PolicyBase, Plugin):
    """The node whose free amounts point least in the direction of the demand."""

    name = "DotProd"

    def score_nodes(self, state, pod, nodes):
        cpu, count, milli = demand(pod)
        of_cpu = cpu_left(nodes) / LARGEST_CPU * (cpu / LARGEST_CPU)
        of_gpu = self.devices.free(nodes).sum(axis=1) / LARGEST_GPU * (count * milli / LARGEST_GPU)
        return (100 * np.clip(1 - (of_cpu + of_gpu) / 2, 0, 1)).astype(np.int64)


class GpuClustering(PolicyBase, Plugin):
    """Pods of a kind together: parts of GPUs, single GPUs, pairs, …; then the fullest node."""

    name = "GpuClustering"

    def score_nodes(self, state, pod, nodes):
        request = GpuRequest.of(pod)
        if request is None:
            return np.zeros(len(nodes), dtype=np.int64)
        there = self.devices.kinds(nodes) > 0
        alike, n_kinds = there[:, min(request.kind, there.shape[1] - 1)], there.sum(axis=1)
        base = np.where(alike, np.where(n_kinds == 1, 75, 50), np.where(n_kinds == 0, 25, 0))
        return base + 25 * np.maximum(LARGEST_GPU - self.devices.free(nodes).sum(axis=1), 0) // LARGEST_GPU


class GpuPacking(PolicyBase, Plugin):
    """GPUs in use first, then free GPUs of nodes in use, then empty nodes."""

    name = "GpuPacking"

    def score_nodes(self, state, pod, nodes):
        request = GpuRequest.of(pod)
        if request is None:
            return np.zeros(len(nodes), dtype=np.int64)
        free = self.devices.free(nodes)
        n_empty = (free == WHOLE).sum(axis=1)
        tightest = np.where(free >= request.milli, free, WHOLE).min(axis=1)
        in_use = np.maximum(100 - tightest * 100 // WHOLE // 10, 50)
        opened = np.maximum(50 - request.count, 33)
        score = np.where(tightest < WHOLE, in_use, opened)
        is_empty = n_empty == nodes.allocatable(COUNT)
        return np.where(is_empty, np.maximum(33 - n_empty, n_empty), score)


class BestFit(PolicyBase, Plugin):
    """The node with the least left over, CPUs and GPUs weighing the same."""

    name = "BestFit"

    def score_nodes(self, state, pod, nodes):
        cpu, count, milli = demand(pod)
        left = (cpu_left(nodes) - cpu) / LARGEST_CPU * 0.5
        left = left + (self.devices.free(nodes).sum(axis=1) - count * milli) / LARGEST_GPU * 0.5
        return ((1 - np.clip(left, 0, 1)) * 100).astype(np.int64)


class TypicalPod(Args):
    """A shape of pods and how often it comes."""

    cpu_milli: int = 0
    gpu_count: int = 0
    gpu_milli: int = 0
    models: tuple[str, ...] = ()
    weight: int = 1


class FGDArgs(Args):
    """What is to be expected: a GPU is fragmented as far as these pods cannot use it."""

    typical_pods: tuple[TypicalPod, ...] = (
        TypicalPod(cpu_milli=4000, weight=2),
        TypicalPod(cpu_milli=4000, gpu_count=1, gpu_milli=500, weight=3),
        TypicalPod(cpu_milli=8000, gpu_count=1, gpu_milli=1000, weight=4),
        TypicalPod(cpu_milli=64000, gpu_count=8, gpu_milli=1000, weight=1),
    )


class FGD(PolicyBase, Plugin[FGDArgs]):
    """Fragmentation gradient descent: the node where fragmentation grows least or falls most."""

    name = "FGD"

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.devices.choose_shared = self._choose
        pods = args.typical_pods
        self._cpu = np.array([pod.cpu_milli for pod in pods])
        self._count = np.array([pod.gpu_count for pod in pods])
        self._models = [pod.models for pod in pods]
        self._weights = np.array([float(pod.weight) for pod in pods])
        #: The distinct parts of a GPU, and which of them each typical pod wants.
        self._parts, self._part = np.unique([pod.gpu_milli for pod in pods], return_inverse=True)

    def score_nodes(self, state, pod, nodes):
        cpu, count, milli = demand(pod)
        left, free, usable = cpu_left(nodes), self.devices.free(nodes), self._usable(nodes)
        before = self._fragmentation(left, free, usable)
        if 0 < milli < WHOLE:
            return self._scores_of_devices(left - cpu, free, usable, before, milli).max(axis=1)
        if count:
            is_taken = (free == WHOLE) & (np.cumsum(free == WHOLE, axis=1) <= count)
            free = np.where(is_taken, 0, free)
        return self._score(before - self._fragmentation(left - cpu, free, usable))

    def _choose(self, pod, request, node, free):
        left, usable = cpu_left(node), self._usable(node)  # the pod is counted on the node already
        before = self._fragmentation(left + demand(pod)[0], free[None, :], usable)
        return int(self._scores_of_devices(left, free[None, :], usable, before, request.milli).argmax())

    def _scores_of_devices(self, left, free, usable, before, milli):
        """Shape (n_nodes, n_devices): the score if the pod shares that device; -1 where it does not fit."""
        scores = np.full(free.shape, -1, dtype=np.int64)
        fits = free >= milli
        for device in range(1, free.shape[1]):  # a device like an earlier one is no choice
            fits[:, device] &= (free[:, :device] != free[:, device : device + 1]).all(axis=1)
        rows, devices = fits.nonzero()
        tried = free[rows]
        tried[np.arange(len(rows)), devices] -= milli
        fallen = before[rows] - self._fragmentation(left[rows], tried, usable[rows])
        scores[rows, devices] = self._score(fallen)
        return scores

    def _usable(self, nodes):
        """Shape (n_nodes, n_typical): whether a typical pod may have GPUs of the node's model."""
        label = nodes.label(MODEL)
        return np.stack(
            [label.isin(models) if models else np.ones(len(nodes), bool) for models in self._models], 1
        )

    def _fragmentation(self, left, free, usable):
        """The thousandths of GPUs that typical pods cannot use, times their weights: exact in float64."""
        large_enough = free[:, :, None] >= self._parts
        counts = large_enough.sum(axis=1)[:, self._part]
        total = free.sum(axis=1, keepdims=True)
        too_small = total - (free[:, None, :] @ large_enough)[:, 0, self._part]
        fits = usable & (self._count > 0) & (counts >= self._count) & (left[:, None] >= self._cpu)
        return np.where(fits, too_small, total) @ self._weights

    def _score(self, fallen):
        return (100 / (1 + np.exp(-fallen / self._weights.sum() / WHOLE))).astype(np.int64)
