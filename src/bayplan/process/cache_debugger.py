"""CacheDebugger: writes the cache and the queue to the log, and compares the cache with what the watches show.

At SIGUSR2, with the messages of kube-scheduler's debugger.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final

from bayplan.model import Node, Pod
from bayplan.observe import klog

if TYPE_CHECKING:
    from bayplan.core import SchedulerCore
    from bayplan.watch.informers import InformerFactory

log = klog.get_logger("bayplan.process")

#: Amounts that kube-scheduler's resources have fields for; all others are ScalarResources.
_FIELDS: Final = ("cpu", "memory", "ephemeral-storage", "pods")


class CacheDebugger:
    """Listens for SIGUSR2 while it is entered; the log is written between two attempts."""

    def __init__(self, core: SchedulerCore, informers: InformerFactory) -> None:
        self._core = core
        self._informers = informers

    def __enter__(self) -> CacheDebugger:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, self.run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGUSR2)

    def run(self) -> None:
        self._compare()
        self._dump_nodes()
        self._dump_queue()

    # --- compare ------------------------------------------------------------------------------------------

    def _compare(self) -> None:
        """Pods that wait for another scheduler are missed, as in kube-scheduler."""
        log.info("Cache comparer started", v=3)
        cache, lister = self._core.cache, self._informers.lister
        nodes = [node.name for node in lister(Node).list()]
        cached_nodes = [node.name for node in cache.snapshot().nodes] + list(cache.orphans())
        missed, redundant = differing(nodes, cached_nodes)
        if missed or redundant:
            log.info("Cache mismatch", missedNodes=missed, redundantNodes=redundant)
        pods = [pod.uid for pod in lister(Pod).list()]
        cached = [pod.uid for pod in self._cached_pods()]
        cached += [info.pod.uid for info in self._core.queue.waiting()]
        missed, redundant = differing(pods, cached)
        if missed or redundant:
            log.info("Cache mismatch", missedPods=missed, redundantPods=redundant)
        log.info("Cache comparer finished", v=3)

    def _cached_pods(self) -> Iterable[Pod]:
        yield from self._core.cache.snapshot().pods()
        for pods in self._core.cache.orphans().values():
            yield from pods

    # --- dump ---------------------------------------------------------------------------------------------

    def _dump_nodes(self) -> None:
        texts = [
            self._node_text(node.name, node.pods, node.requested, node.allocatable)
            for node in self._core.cache.snapshot().nodes
        ]
        texts += [
            self._node_text(name, pods, {}, {}, deleted=True) for name, pods in self._core.cache.orphans().items()
        ]
        log.info("Dump of cached NodeInfo", nodes="\n\n".join(texts))

    def _node_text(
        self,
        name: str,
        pods: Sequence[Pod],
        requested: Mapping[str, int],
        allocatable: Mapping[str, int],
        *,
        deleted: bool = False,
    ) -> str:
        text = (
            f"Node name: {name}\nDeleted: {str(deleted).lower()}\n"
            f"Requested Resources: {_amounts(requested)}\nAllocatable Resources:{_amounts(allocatable)}\n"
            f"Scheduled Pods(number: {len(pods)}):\n" + "".join(map(pod_text, pods))
        )
        nominated = self._core.nominator.nominated(name)
        if nominated:
            text += f"Nominated Pods(number: {len(nominated)}):\n" + "".join(map(pod_text, nominated))
        return text

    def _dump_queue(self) -> None:
        counts = self._core.queue.counts()
        n_unschedulable = counts.unschedulable + counts.gated
        summary = f"activeQ:{counts.active}; backoffQ:{counts.backoff}; unschedulablePods:{n_unschedulable}"
        pods = "".join(pod_text(info.pod) for info in self._core.queue.waiting())
        log.info("Dump of scheduling queue", summary=summary, pods=pods)


def differing(actual: Collection[str], cached: Collection[str]) -> tuple[list[str], list[str]]:
    """What the cache has missed, and what it has too much, sorted."""
    return sorted(set(actual) - set(cached)), sorted(set(cached) - set(actual))


def pod_text(pod: Pod) -> str:
    return (
        f"name: {pod.name}, namespace: {pod.namespace}, uid: {pod.uid}, phase: {pod.status.phase}, "
        f"nominated node: {pod.status.nominated_node_name}\n"
    )


def _amounts(amounts: Mapping[str, int]) -> str:
    """As Go prints kube-scheduler's Resource."""
    cpu, memory, storage, pods = (amounts.get(name, 0) for name in _FIELDS)
    scalars = " ".join(f"{name}:{amount}" for name, amount in sorted(amounts.items()) if name not in _FIELDS)
    return (
        f"&{{MilliCPU:{cpu} Memory:{memory} EphemeralStorage:{storage} AllowedPodNumber:{pods} "
        f"ScalarResources:map[{scalars}]}}"
    )
