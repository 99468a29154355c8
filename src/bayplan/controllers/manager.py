"""ControllerManager: runs all controllers of a cluster on one set of informers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from bayplan.client import KubeClient
from bayplan.controllers.batch.cron_jobs import CronJobController
from bayplan.controllers.batch.jobs import JobController
from bayplan.controllers.claim_protection import ClaimProtectionController
from bayplan.controllers.controller import Controller
from bayplan.controllers.daemon_sets import DaemonSetController
from bayplan.controllers.deployments import DeploymentController
from bayplan.controllers.disruption.disruption_budgets import DisruptionController
from bayplan.controllers.elastic_quotas import ElasticQuotaController
from bayplan.controllers.garbage import GarbageCollector
from bayplan.controllers.namespaces import NamespaceController
from bayplan.controllers.node_lifecycle import NodeLifecycleController
from bayplan.controllers.persistent_volumes import PersistentVolumeController
from bayplan.controllers.pod_groups import PodGroupController
from bayplan.controllers.replica_sets import ReplicaSetController, ReplicationManager
from bayplan.controllers.resource_claims import ResourceClaimController
from bayplan.controllers.resource_quotas import ResourceQuotaController
from bayplan.controllers.service_accounts import ServiceAccountController
from bayplan.controllers.services.endpoint_slices import EndpointSliceController
from bayplan.controllers.stateful_sets import StatefulSetController
from bayplan.framework import Clock
from bayplan.watch.informers import InformerFactory

C = TypeVar("C", bound=Controller)

#: The controllers of a cluster without kube-controller-manager.
CLUSTER_CONTROLLERS: Final[tuple[type[Controller], ...]] = (
    DeploymentController,
    ReplicaSetController,
    ReplicationManager,
    StatefulSetController,
    DaemonSetController,
    JobController,
    CronJobController,
    GarbageCollector,
    NamespaceController,
    ServiceAccountController,
    EndpointSliceController,
    DisruptionController,
    PersistentVolumeController,
    ClaimProtectionController,
    NodeLifecycleController,
    ResourceQuotaController,
    ResourceClaimController,
)

#: The controllers of the scheduler-plugins custom resources, which must be installed: see `crds`.
SCHEDULER_PLUGINS_CONTROLLERS: Final[tuple[type[Controller], ...]] = (PodGroupController, ElasticQuotaController)


class ControllerManager:
    """Runs controllers until it is cancelled."""

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        kinds: Sequence[type[Controller]] = CLUSTER_CONTROLLERS,
        informers: InformerFactory | None = None,
    ) -> None:
        self.informers = informers if informers is not None else InformerFactory(client, clock)
        self._client = client
        self._clock = clock
        self.controllers: list[Controller] = [kind(client, self.informers, clock) for kind in kinds]

    def add(self, make: Callable[[KubeClient, InformerFactory, Clock], C]) -> C:
        """Add a controller made by *make*; before `run`."""
        made = make(self._client, self.informers, self._clock)
        self.controllers.append(made)
        return made

    async def run(self) -> None:
        """Sync the informers, then run; *informers* are started here unless they run already."""
        self.informers.start()
        try:
            await self.informers.wait_synced()
            async with asyncio.TaskGroup() as group:
                for controller in self.controllers:
                    group.create_task(controller.run(), name=controller.name)
        finally:
            await self.informers.stop()
