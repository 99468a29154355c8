"""The fields of a pod: its spec and its status, as typed structs with the names of the API.

Only the fields that a scheduler reads are here. `bayplan.model.pod` has the pod itself; the modules
`resource_requests`, `node_selectors`, `pod_affinity` and `host_ports` derive values from these fields.
"""

from typing import Final

from bayplan.model.kube_object import ApiStruct, Condition, LabelSelector, condition_of
from bayplan.model.read_only import EMPTY, freeze
from bayplan.model.taints import Toleration
from bayplan.model.volume_sources import QuantityText, Volume

# --- affinity and spreading ----------------------------------------------------------------------------------


class NodeSelectorRequirement(ApiStruct, frozen=True, kw_only=True):
    """One expression over the labels or fields of a node."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(ApiStruct, frozen=True, kw_only=True):
    """Expressions that must all hold; a term without any matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(ApiStruct, frozen=True, kw_only=True):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(ApiStruct, frozen=True, kw_only=True):
    """A term that adds its weight to the score of the nodes it matches."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(ApiStruct, frozen=True, kw_only=True):
    """Which nodes a pod needs, and which it prefers."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()

    @property
    def required(self) -> NodeSelector | None:
        """Short for requiredDuringSchedulingIgnoredDuringExecution."""
        return self.required_during_scheduling_ignored_during_execution

    @property
    def preferred(self) -> tuple[PreferredSchedulingTerm, ...]:
        """Short for preferredDuringSchedulingIgnoredDuringExecution."""
        return self.preferred_during_scheduling_ignored_during_execution


class PodAffinityTerm(ApiStruct, frozen=True, kw_only=True):
    """Pods, by labels and namespaces, within a topology domain."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(ApiStruct, frozen=True, kw_only=True):
    """A term with the weight it adds to a score."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(ApiStruct, frozen=True, kw_only=True):
    """Terms of pod affinity, or of pod anti-affinity."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()

    @property
    def required(self) -> tuple[PodAffinityTerm, ...]:
        """Short for requiredDuringSchedulingIgnoredDuringExecution."""
        return self.required_during_scheduling_ignored_during_execution

    @property
    def preferred(self) -> tuple[WeightedPodAffinityTerm, ...]:
        """Short for preferredDuringSchedulingIgnoredDuringExecution."""
        return self.preferred_during_scheduling_ignored_during_execution


class Affinity(ApiStruct, frozen=True, kw_only=True):
    """All affinity of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(ApiStruct, frozen=True, kw_only=True):
    """How evenly to spread pods over the domains of a topology key."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


# --- containers ----------------------------------------------------------------------------------------------


class ContainerPort(ApiStruct, frozen=True, kw_only=True):
    """A port of a container; a host port above zero uses that port of the node."""

    name: str = ""
    host_port: int = 0
    container_port: int = 0
    protocol: str = ""
    host_ip: str = ""


class ResourceClaimRef(ApiStruct, frozen=True, kw_only=True):
    """A container's use of one of the pod's resource claims."""

    name: str = ""
    request: str = ""


class ResourceRequirements(ApiStruct, frozen=True, kw_only=True):
    """Requests and limits, of a container or of a whole pod. Whatever contains them makes them read-only."""

    requests: dict[str, QuantityText] = EMPTY
    limits: dict[str, QuantityText] = EMPTY
    claims: tuple[ResourceClaimRef, ...] = ()

    def freeze(self) -> None:
        freeze(self, "requests", "limits")


NO_RESOURCES: Final = ResourceRequirements()


class ContainerRestartRule(ApiStruct, frozen=True, kw_only=True):
    """What happens when a container exits in a given way."""

    action: str = ""


class Container(ApiStruct, frozen=True, kw_only=True):
    """A container or init container; an init container that always restarts is a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = NO_RESOURCES
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()

    @property
    def is_sidecar(self) -> bool:
        """Whether, as an init container, it keeps running next to the others."""
        return self.restart_policy == "Always"


class PodSchedulingGate(ApiStruct, frozen=True, kw_only=True):
    """A gate that keeps the pod out of the queue until it is removed."""

    name: str = ""


class PodResourceClaim(ApiStruct, frozen=True, kw_only=True):
    """A resource claim of the pod, by name or created from a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodOS(ApiStruct, frozen=True, kw_only=True):
    """The operating system a pod declares."""

    name: str = ""


class PodSchedulingGroup(ApiStruct, frozen=True, kw_only=True):
    """The group that a pod is scheduled with (gang scheduling)."""

    pod_group_name: str | None = None


# --- spec ----------------------------------------------------------------------------------------------------


class PodSpec(ApiStruct, frozen=True, kw_only=True):
    """The specification of a pod."""

    node_name: str = ""
    scheduler_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_selector: dict[str, str] = EMPTY
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    volumes: tuple[Volume, ...] = ()
    overhead: dict[str, QuantityText] = EMPTY
    resources: ResourceRequirements | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    termination_grace_period_seconds: int | None = None
    host_network: bool = False
    host_users: bool | None = None
    os: PodOS | None = None
    scheduling_group: PodSchedulingGroup | None = None
    restart_policy: str = ""
    runtime_class_name: str | None = None
    service_account_name: str = ""

    def freeze(self) -> None:
        """Make the dicts of a new spec read-only, except those of the containers: see `freeze_containers`."""
        if self.node_selector is not EMPTY or self.overhead is not EMPTY:
            freeze(self, "node_selector", "overhead")
        if self.resources is not None:
            self.resources.freeze()


# --- status --------------------------------------------------------------------------------------------------


class ContainerStatus(ApiStruct, frozen=True, kw_only=True):
    """The state of a container: `resources` are actuated, `allocated_resources` admitted by the kubelet."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    image: str = ""
    image_id: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: dict[str, QuantityText] = EMPTY

    def __post_init__(self) -> None:
        freeze(self, "allocated_resources")
        if self.resources is not None:
            self.resources.freeze()


class PodResourceClaimStatus(ApiStruct, frozen=True, kw_only=True):
    """The claim that was created for a claim template; no name means that none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(ApiStruct, frozen=True, kw_only=True):
    """Which request of a special claim satisfies a container's extended resource."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(ApiStruct, frozen=True, kw_only=True):
    """The special claim that the scheduler created for extended resources backed by devices."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


class NodeAllocatableResourceClaimStatus(ApiStruct, frozen=True, kw_only=True):
    """What a claim takes of a node's allocatable resources."""

    resource_claim_name: str = ""
    containers: tuple[str, ...] = ()
    resources: dict[str, QuantityText] = EMPTY

    def __post_init__(self) -> None:
        freeze(self, "resources")


class PodStatus(ApiStruct, frozen=True, kw_only=True):
    """The status of a pod."""

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
    allocated_resources: dict[str, QuantityText] = EMPTY
    resize: str = ""
    qos_class: str = ""
    observed_generation: int = 0
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()

    def freeze(self) -> None:
        """Make the dicts of a new status read-only."""
        if self.allocated_resources is not EMPTY:
            freeze(self, "allocated_resources")
        if self.resources is not None:
            self.resources.freeze()

    def condition(self, type: str) -> Condition | None:
        """The condition of that type, if any."""
        return condition_of(self.conditions, type)

    @property
    def reports_resources(self) -> bool:
        """Whether the kubelet reports the actual resources of the pod or of a container, changed or not."""
        if self.resources is not None:
            return True
        statuses = self.container_statuses + self.init_container_statuses
        return bool(statuses) and any(each.resources is not None for each in statuses)

    @property
    def resize_infeasible(self) -> bool:
        """Whether the kubelet found a resize infeasible, so that the spec does not count."""
        pending = condition_of(self.conditions, "PodResizePending")
        return pending is not None and pending.reason == "Infeasible"
