"""Kinds that select or own pods: services, controllers, disruption budgets; and priority classes."""

from typing import ClassVar

from bayplan.model.kube_object import ApiStruct, KubeObject, LabelSelector
from bayplan.model.read_only import EMPTY, freeze


class ServiceSpec(ApiStruct, frozen=True, kw_only=True):
    """The pods of a service."""

    selector: dict[str, str] = EMPTY
    cluster_ip: str = ""
    type: str = ""

    def __post_init__(self) -> None:
        freeze(self, "selector")


class Service(KubeObject, frozen=True, kw_only=True):
    """A service; its selector spreads pods by default."""

    KIND: ClassVar[str] = "Service"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "services"

    spec: ServiceSpec = ServiceSpec()


class ReplicaSetSpec(ApiStruct, frozen=True, kw_only=True):
    """The pods of a replica set."""

    replicas: int | None = None
    selector: LabelSelector | None = None


class ReplicaSet(KubeObject, frozen=True, kw_only=True):
    """A replica set."""

    KIND: ClassVar[str] = "ReplicaSet"
    API_VERSION: ClassVar[str] = "apps/v1"
    PLURAL: ClassVar[str] = "replicasets"

    spec: ReplicaSetSpec = ReplicaSetSpec()


class StatefulSetSpec(ApiStruct, frozen=True, kw_only=True):
    """The pods of a stateful set."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    service_name: str = ""


class StatefulSet(KubeObject, frozen=True, kw_only=True):
    """A stateful set."""

    KIND: ClassVar[str] = "StatefulSet"
    API_VERSION: ClassVar[str] = "apps/v1"
    PLURAL: ClassVar[str] = "statefulsets"

    spec: StatefulSetSpec = StatefulSetSpec()


class ReplicationControllerSpec(ApiStruct, frozen=True, kw_only=True):
    """The pods of a replication controller."""

    replicas: int | None = None
    selector: dict[str, str] = EMPTY

    def __post_init__(self) -> None:
        freeze(self, "selector")


class ReplicationController(KubeObject, frozen=True, kw_only=True):
    """A replication controller."""

    KIND: ClassVar[str] = "ReplicationController"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "replicationcontrollers"

    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class PodDisruptionBudgetSpec(ApiStruct, frozen=True, kw_only=True):
    """The pods that are protected; minAvailable and maxUnavailable are a number or a percentage."""

    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(ApiStruct, frozen=True, kw_only=True):
    """How many more pods may be disrupted, and which already are (name: since when)."""

    observed_generation: int = 0
    disrupted_pods: dict[str, str] = EMPTY
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0

    def __post_init__(self) -> None:
        freeze(self, "disrupted_pods")


class PodDisruptionBudget(KubeObject, frozen=True, kw_only=True):
    """A limit on the disruption of pods."""

    KIND: ClassVar[str] = "PodDisruptionBudget"
    API_VERSION: ClassVar[str] = "policy/v1"
    PLURAL: ClassVar[str] = "poddisruptionbudgets"

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(KubeObject, frozen=True, kw_only=True):
    """A named priority."""

    KIND: ClassVar[str] = "PriorityClass"
    API_VERSION: ClassVar[str] = "scheduling.k8s.io/v1"
    PLURAL: ClassVar[str] = "priorityclasses"
    NAMESPACED: ClassVar[bool] = False

    value: int = 0
    global_default: bool = False
    description: str = ""
    preemption_policy: str | None = None
