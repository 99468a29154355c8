"""What stands behind pods: services and controllers, disruption budgets, priority classes."""

from typing import ClassVar

from msgspec import field

from bayplan.model.base import Part
from bayplan.model.meta import LabelSelector
from bayplan.model.objects import KubeObject


class ServiceSpec(Part, frozen=True, kw_only=True):
    """The pods of a service."""

    selector: dict[str, str] = field(default_factory=dict)
    cluster_ip: str = ""
    type: str = ""


class Service(KubeObject, frozen=True, kw_only=True):
    """A service; its selector spreads pods by default."""

    KIND: ClassVar[str] = "Service"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "services"

    spec: ServiceSpec = ServiceSpec()


class ReplicaSetSpec(Part, frozen=True, kw_only=True):
    """The pods of a replica set."""

    replicas: int | None = None
    selector: LabelSelector | None = None


class ReplicaSet(KubeObject, frozen=True, kw_only=True):
    """A replica set."""

    KIND: ClassVar[str] = "ReplicaSet"
    API_VERSION: ClassVar[str] = "apps/v1"
    PLURAL: ClassVar[str] = "replicasets"

    spec: ReplicaSetSpec = ReplicaSetSpec()


class StatefulSetSpec(Part, frozen=True, kw_only=True):
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


class ReplicationControllerSpec(Part, frozen=True, kw_only=True):
    """The pods of a replication controller."""

    replicas: int | None = None
    selector: dict[str, str] = field(default_factory=dict)


class ReplicationController(KubeObject, frozen=True, kw_only=True):
    """A replication controller."""

    KIND: ClassVar[str] = "ReplicationController"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "replicationcontrollers"

    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class PodDisruptionBudgetSpec(Part, frozen=True, kw_only=True):
    """The pods that are protected; minAvailable and maxUnavailable are a number or a percentage."""

    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Part, frozen=True, kw_only=True):
    """How many more of them may be disrupted, and which are being disrupted already (name: since when)."""

    observed_generation: int = 0
    disrupted_pods: dict[str, str] = field(default_factory=dict)
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0


class PodDisruptionBudget(KubeObject, frozen=True, kw_only=True):
    """A limit to the disruption of pods."""

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
