"""The status of a pod: phase, conditions, nomination, and the resources its containers actually have."""

from msgspec import field

from bayplan.model.base import Part
from bayplan.model.meta import Condition, condition_of
from bayplan.model.pod_spec import ResourceRequirements
from bayplan.model.volumes import QuantityText


class ContainerStatus(Part, frozen=True, kw_only=True):
    """The state of a container: `resources` are actuated, `allocated_resources` promised by the kubelet."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    image: str = ""
    image_id: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: dict[str, QuantityText] = field(default_factory=dict)


class PodResourceClaimStatus(Part, frozen=True, kw_only=True):
    """The claim that was made for a claim template; no name means that none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Part, frozen=True, kw_only=True):
    """Which request of a special claim stands for a container's extended resource."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(Part, frozen=True, kw_only=True):
    """The special claim that the scheduler made for extended resources backed by devices."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


class NodeAllocatableResourceClaimStatus(Part, frozen=True, kw_only=True):
    """What a claim takes of a node's allocatable resources."""

    resource_claim_name: str = ""
    containers: tuple[str, ...] = ()
    resources: dict[str, QuantityText] = field(default_factory=dict)


class PodStatus(Part, frozen=True, kw_only=True):
    """What is known of a pod."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    message: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    host_ip: str = ""
    pod_ip: str = ""
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: dict[str, QuantityText] = field(default_factory=dict)
    resize: str = ""
    qos_class: str = ""
    observed_generation: int = 0
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()

    def condition(self, type: str) -> Condition | None:
        """The condition of that type, if any."""
        return condition_of(self.conditions, type)

    @property
    def tells_resources(self) -> bool:
        """Whether the kubelet says what the pod or its containers have, be it what the spec asks for or not."""
        if self.resources is not None:
            return True
        statuses = self.container_statuses + self.init_container_statuses
        return bool(statuses) and any(each.resources is not None for each in statuses)

    @property
    def resize_infeasible(self) -> bool:
        """Whether the kubelet refused a resize for good, so that the spec is not what counts."""
        pending = condition_of(self.conditions, "PodResizePending")
        return pending is not None and pending.reason == "Infeasible"
