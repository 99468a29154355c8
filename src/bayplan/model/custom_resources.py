"""Custom resources of the scheduler-plugins family: PodGroup for coscheduling, ElasticQuota for capacity."""

from typing import ClassVar

from bayplan.model.kube_object import ApiStruct, KubeObject, cached_property
from bayplan.model.read_only import EMPTY, freeze
from bayplan.model.resource_requests import Resources, allocatable_resources
from bayplan.model.volume_sources import QuantityText

_API_VERSION = "scheduling.x-k8s.io/v1alpha1"


class PodGroupSpec(ApiStruct, frozen=True, kw_only=True):
    """Pods that are scheduled together or not at all."""

    min_member: int = 0
    min_resources: dict[str, QuantityText] = EMPTY
    schedule_timeout_seconds: int | None = None

    def __post_init__(self) -> None:
        freeze(self, "min_resources")


class PodGroupStatus(ApiStruct, frozen=True, kw_only=True):
    """The progress of the group."""

    phase: str = ""
    occupied_by: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: str | None = None


class PodGroup(KubeObject, frozen=True, kw_only=True):
    """A group of pods for coscheduling."""

    KIND: ClassVar[str] = "PodGroup"
    API_VERSION: ClassVar[str] = _API_VERSION
    PLURAL: ClassVar[str] = "podgroups"

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @cached_property
    def min_resources(self) -> Resources:
        """spec.minResources in the scheduler's units."""
        return allocatable_resources(self.spec.min_resources)


class ElasticQuotaSpec(ApiStruct, frozen=True, kw_only=True):
    """What a namespace is guaranteed (min), and how much it may borrow (max)."""

    min: dict[str, QuantityText] = EMPTY
    max: dict[str, QuantityText] = EMPTY

    def __post_init__(self) -> None:
        freeze(self, "min", "max")


class ElasticQuotaStatus(ApiStruct, frozen=True, kw_only=True):
    """What the namespace uses."""

    used: dict[str, QuantityText] = EMPTY

    def __post_init__(self) -> None:
        freeze(self, "used")


class ElasticQuota(KubeObject, frozen=True, kw_only=True):
    """A quota whose unused part can be borrowed."""

    KIND: ClassVar[str] = "ElasticQuota"
    API_VERSION: ClassVar[str] = _API_VERSION
    PLURAL: ClassVar[str] = "elasticquotas"

    spec: ElasticQuotaSpec = ElasticQuotaSpec()
    status: ElasticQuotaStatus = ElasticQuotaStatus()

    @cached_property
    def min(self) -> Resources:
        """spec.min in the scheduler's units."""
        return allocatable_resources(self.spec.min)

    @cached_property
    def max(self) -> Resources:
        """spec.max in the scheduler's units."""
        return allocatable_resources(self.spec.max)
