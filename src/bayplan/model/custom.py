"""Custom resources of the scheduler-plugins family: PodGroup for coscheduling, ElasticQuota for capacity."""

from typing import ClassVar

from msgspec import field

from bayplan.model.base import Part
from bayplan.model.memo import cached_property
from bayplan.model.objects import KubeObject
from bayplan.model.resources import Resources, allocatable_resources
from bayplan.model.volumes import QuantityText

_API_VERSION = "scheduling.x-k8s.io/v1alpha1"


class PodGroupSpec(Part, frozen=True, kw_only=True):
    """Pods that are scheduled together or not at all."""

    min_member: int = 0
    min_resources: dict[str, QuantityText] = field(default_factory=dict)
    schedule_timeout_seconds: int | None = None


class PodGroupStatus(Part, frozen=True, kw_only=True):
    """How far the group has come."""

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


class ElasticQuotaSpec(Part, frozen=True, kw_only=True):
    """What a namespace is sure of, and what it may borrow up to."""

    min: dict[str, QuantityText] = field(default_factory=dict)
    max: dict[str, QuantityText] = field(default_factory=dict)


class ElasticQuotaStatus(Part, frozen=True, kw_only=True):
    """What the namespace uses."""

    used: dict[str, QuantityText] = field(default_factory=dict)


class ElasticQuota(KubeObject, frozen=True, kw_only=True):
    """A quota that lends what is not used."""

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
