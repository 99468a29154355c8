"""All controllers of a cluster, on one set of informers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from bayplan.client import KubeClient
from bayplan.controllers.controller import Controller
from bayplan.controllers.daemon_sets import DaemonSets
from bayplan.controllers.deployments import Deployments
from bayplan.controllers.disruption import DisruptionBudgets
from bayplan.controllers.elastic_quotas import ElasticQuotas
from bayplan.controllers.garbage import GarbageCollector
from bayplan.controllers.jobs import Jobs
from bayplan.controllers.namespaces import Namespaces
from bayplan.controllers.node_lifecycle import NodeLifecycle
from bayplan.controllers.pod_groups import PodGroups
from bayplan.controllers.replica_sets import ReplicaSets, ReplicationControllers
from bayplan.controllers.resource_quotas import ResourceQuotas
from bayplan.controllers.stateful_sets import StatefulSets
from bayplan.controllers.volumes import Volumes
from bayplan.framework import Clock
from bayplan.watch.informers import Informers

C = TypeVar("C", bound=Controller)

#: What a cluster needs that has no kube-controller-manager.
CLUSTER: Final[tuple[type[Controller], ...]] = (
    Deployments,
    ReplicaSets,
    ReplicationControllers,
    StatefulSets,
    DaemonSets,
    Jobs,
    GarbageCollector,
    Namespaces,
    DisruptionBudgets,
    Volumes,
    NodeLifecycle,
    ResourceQuotas,
)

#: Those of the scheduler-plugins family's custom resources, which must be there: see `crds`.
FAMILY: Final[tuple[type[Controller], ...]] = (PodGroups, ElasticQuotas)


class Manager:
    """Runs controllers until it is cancelled."""

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        kinds: Sequence[type[Controller]] = CLUSTER,
        informers: Informers | None = None,
    ) -> None:
        self.informers = informers if informers is not None else Informers(client, clock)
        self._client = client
        self._clock = clock
        self.controllers: list[Controller] = [kind(client, self.informers, clock) for kind in kinds]

    def add(self, make: Callable[[KubeClient, Informers, Clock], C]) -> C:
        """One more, made by *make*; before `run`."""
        made = make(self._client, self.informers, self._clock)
        self.controllers.append(made)
        return made

    async def run(self) -> None:
        """Read everything, then work; *informers* are started here unless they run already."""
        self.informers.start()
        try:
            await self.informers.wait_synced()
            async with asyncio.TaskGroup() as group:
                for controller in self.controllers:
                    group.create_task(controller.run(), name=controller.name)
        finally:
            await self.informers.stop()
