"""The strategies of the built-in kinds, one module for each family of kinds."""

from __future__ import annotations

from collections.abc import Callable

from bayplan.apiserver.authorization.device_access import DeviceAccess
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.rest_strategy import RestStrategy
from bayplan.apiserver.strategies.config_data import ConfigMapStrategy, SecretStrategy
from bayplan.apiserver.strategies.device_taint_rules import DeviceTaintRuleStrategy
from bayplan.apiserver.strategies.endpoints import EndpointSliceStrategy, EndpointsStrategy
from bayplan.apiserver.strategies.events import CoreEventStrategy, EventStrategy
from bayplan.apiserver.strategies.jobs import CronJobStrategy, JobStrategy
from bayplan.apiserver.strategies.leases import LeaseStrategy
from bayplan.apiserver.strategies.namespaces import NamespaceStrategy
from bayplan.apiserver.strategies.nodes import NodeStrategy
from bayplan.apiserver.strategies.pods.pod_strategy import PodStrategy
from bayplan.apiserver.strategies.policies import PodDisruptionBudgetStrategy, PriorityClassStrategy
from bayplan.apiserver.strategies.quotas import LimitRangeStrategy, ResourceQuotaStrategy
from bayplan.apiserver.strategies.resource_claims import (
    DeviceClassStrategy,
    ResourceClaimStrategy,
    ResourceClaimTemplateStrategy,
    ResourceSliceStrategy,
)
from bayplan.apiserver.strategies.roles import RoleBindingStrategy, RoleStrategy
from bayplan.apiserver.strategies.services import ServiceStrategy
from bayplan.apiserver.strategies.storage import (
    CSIDriverStrategy,
    CSINodeStrategy,
    PersistentVolumeClaimStrategy,
    PersistentVolumeStrategy,
    ReturnDeletedStrategy,
    StorageClassStrategy,
    VolumeAttachmentStrategy,
)
from bayplan.apiserver.strategies.stored_only import stored_only_strategies
from bayplan.apiserver.strategies.workloads import (
    DaemonSetStrategy,
    DeploymentStrategy,
    PodTemplateStrategy,
    ReplicaSetStrategy,
    ReplicationControllerStrategy,
    StatefulSetStrategy,
)
from bayplan.release import Release

__all__ = ["built_in_strategies"]


def built_in_strategies(
    now: Callable[[], str], device_access: DeviceAccess, release: Release
) -> Callable[[ApiResource], RestStrategy]:
    """Group and plural → strategy; `now` is the current time as metadata writes it."""
    plain = RestStrategy()
    known: dict[tuple[str, str], RestStrategy] = {
        ("", "pods"): PodStrategy(),
        ("", "nodes"): NodeStrategy(),
        ("", "namespaces"): NamespaceStrategy(),
        ("", "configmaps"): ConfigMapStrategy(),
        ("", "secrets"): SecretStrategy(),
        ("", "services"): ServiceStrategy(),
        ("", "serviceaccounts"): ReturnDeletedStrategy(),
        ("", "endpoints"): EndpointsStrategy(),
        ("", "events"): CoreEventStrategy(),
        ("", "limitranges"): LimitRangeStrategy(),
        ("", "resourcequotas"): ResourceQuotaStrategy(),
        ("", "persistentvolumes"): PersistentVolumeStrategy(now),
        ("", "persistentvolumeclaims"): PersistentVolumeClaimStrategy(),
        ("", "podtemplates"): PodTemplateStrategy(),
        ("", "replicationcontrollers"): ReplicationControllerStrategy(),
        ("apps", "deployments"): DeploymentStrategy(),
        ("apps", "replicasets"): ReplicaSetStrategy(),
        ("apps", "statefulsets"): StatefulSetStrategy(release),
        ("apps", "daemonsets"): DaemonSetStrategy(),
        ("batch", "jobs"): JobStrategy(),
        ("batch", "cronjobs"): CronJobStrategy(),
        ("policy", "poddisruptionbudgets"): PodDisruptionBudgetStrategy(),
        ("scheduling.k8s.io", "priorityclasses"): PriorityClassStrategy(),
        ("coordination.k8s.io", "leases"): LeaseStrategy(),
        ("events.k8s.io", "events"): EventStrategy(),
        ("storage.k8s.io", "storageclasses"): StorageClassStrategy(),
        ("storage.k8s.io", "csidrivers"): CSIDriverStrategy(),
        ("storage.k8s.io", "csinodes"): CSINodeStrategy(),
        ("storage.k8s.io", "volumeattachments"): VolumeAttachmentStrategy(),
        ("storage.k8s.io", "volumeattributesclasses"): ReturnDeletedStrategy(),
        ("discovery.k8s.io", "endpointslices"): EndpointSliceStrategy(),
        ("resource.k8s.io", "resourceclaims"): ResourceClaimStrategy(device_access, release.facts),
        ("resource.k8s.io", "resourceclaimtemplates"): ResourceClaimTemplateStrategy(device_access, release.facts),
        ("resource.k8s.io", "resourceslices"): ResourceSliceStrategy(now, release.facts),
        ("resource.k8s.io", "deviceclasses"): DeviceClassStrategy(),
        ("resource.k8s.io", "devicetaintrules"): DeviceTaintRuleStrategy(now),
        ("rbac.authorization.k8s.io", "roles"): RoleStrategy(cluster_wide=False),
        ("rbac.authorization.k8s.io", "clusterroles"): RoleStrategy(cluster_wide=True),
        ("rbac.authorization.k8s.io", "rolebindings"): RoleBindingStrategy(cluster_wide=False),
        ("rbac.authorization.k8s.io", "clusterrolebindings"): RoleBindingStrategy(cluster_wide=True),
        **stored_only_strategies(),
    }

    def strategy_of(resource: ApiResource) -> RestStrategy:
        return known.get((resource.group, resource.plural), plain)

    return strategy_of
