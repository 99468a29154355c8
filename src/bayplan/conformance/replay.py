"""A recorded cluster that lives: objects change, the queue hears of it, pods are tried and bound. In virtual time.

The world around the scheduler is a `PlayedCluster`. What stands here is as much of the PV controller as a pod
waits for, and what the recordings have of an attempt.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from bayplan import config
from bayplan.config import Catalogue
from bayplan.conformance.recorded_cluster import KINDS
from bayplan.core.feasible_nodes import TieBreaker
from bayplan.core.messages import WriteStatus
from bayplan.framework import Registry
from bayplan.model import KubeObject, Node, PersistentVolume, PersistentVolumeClaim, Pod
from bayplan.shell.played_cluster import STANDARD_START, STANDARD_TIMING, PlayedCluster, Timing

if TYPE_CHECKING:
    from bayplan.queue import QueuedPodInfo

#: Pods that are there at the start come out of a list, one after another.
LISTED_SECONDS: Final = 0.000_01


class Replay(PlayedCluster):
    """A scheduler over the objects of a recorded line, and its API server."""

    def __init__(
        self,
        line: dict[str, Any],
        catalogue: Catalogue,
        tie_breaker: TieBreaker | None = None,
        start: float = STANDARD_START,
        timing: Timing = STANDARD_TIMING,
    ) -> None:
        """*start* is when the scheduler starts, in seconds since the epoch; it matters beside recorded times."""
        if not isinstance(catalogue, Registry):
            raise TypeError("attempts are made with a registry of plugins, not with a bare catalogue")
        loaded = config.load(json.dumps(line["config"]), source="config", catalogue=catalogue)
        super().__init__(loaded, catalogue, start=start, timing=timing, tie_breaker=tie_breaker, seed=0)
        #: Pod → how often it was tried.
        self.attempts: Counter[str] = Counter()
        #: Pod → the messages of its condition after failed attempts, in order.
        self.messages: defaultdict[str, list[str]] = defaultdict(list)
        self._create(line)

    def _create(self, line: dict[str, Any]) -> None:
        for key, kind in KINDS.items():
            for each in line.get(key, ()):
                self.core.objects.set(kind.from_dict(each))
        for each in line["nodes"]:
            self.apply(None, Node.from_dict(each))
        for each in line["bound"]:
            self.apply(None, Pod.from_dict(each))

    def list_pods(self, pods: Iterable[Pod]) -> None:
        """These pods are there when the scheduler starts: it sees all of them, by name, before it tries any."""
        for pod in sorted(pods, key=lambda pod: pod.key):
            self.apply(None, pod)
            self._clock.time += LISTED_SECONDS

    def apply(self, old: KubeObject | None, new: KubeObject | None) -> None:
        super().apply(old, new)
        if isinstance(new, PersistentVolume):
            self._tasks.start(self._control_volume(new.name), self._timing.controller_seconds)

    # --- what the recordings have -----------------------------------------------------------------

    def pod_attempted(self, info: QueuedPodInfo) -> None:
        self.attempts[info.key] += 1

    def status_written(self, write: WriteStatus) -> None:
        if write.condition is not None:
            self.messages[write.pod.key].append(write.condition.message)

    # --- the PV controller ------------------------------------------------------------------------

    async def _control_volume(self, name: str) -> None:
        """A new volume becomes available; one that the scheduler gave to a claim is bound to it."""
        objects = self.core.objects
        volume = objects.lister(PersistentVolume).get(name)
        if volume is None:
            return
        reference = volume.spec.claim_ref
        phase = "Available" if reference is None else "Bound"
        if volume.status.phase != phase:
            self.apply(volume, PersistentVolume.from_dict(self._merged(volume, status={"phase": phase})))
        claims = objects.lister(PersistentVolumeClaim)
        claim = claims.get(reference.name, reference.namespace) if reference is not None else None
        if claim is not None and not claim.spec.volume_name:
            bound = self._merged(claim, spec={"volumeName": name}, status={"phase": "Bound"})
            bound["metadata"]["annotations"] = {**claim.annotations, "pv.kubernetes.io/bind-completed": "yes"}
            self.apply(claim, PersistentVolumeClaim.from_dict(bound))

    def _merged(self, value: KubeObject, **parts: dict[str, Any]) -> dict[str, Any]:
        raw = dict(value.whole)
        return self._versioned({**raw, **{key: {**raw.get(key, {}), **part} for key, part in parts.items()}})
