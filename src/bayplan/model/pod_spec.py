"""The specification of a pod, as a scheduler reads it: containers, placement, tolerations, volumes, claims."""

from msgspec import field

from bayplan.model.affinity import Affinity, TopologySpreadConstraint
from bayplan.model.base import Part
from bayplan.model.taints import Toleration
from bayplan.model.volumes import QuantityText, Volume


class ContainerPort(Part, frozen=True, kw_only=True):
    """A port of a container; a host port above zero takes that port of the node."""

    name: str = ""
    host_port: int = 0
    container_port: int = 0
    protocol: str = ""
    host_ip: str = ""


class ResourceClaimRef(Part, frozen=True, kw_only=True):
    """A container's use of one of the pod's resource claims."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Part, frozen=True, kw_only=True):
    """Requests and limits, of a container or of a whole pod."""

    requests: dict[str, QuantityText] = field(default_factory=dict)
    limits: dict[str, QuantityText] = field(default_factory=dict)
    claims: tuple[ResourceClaimRef, ...] = ()


NO_RESOURCES = ResourceRequirements()


class ContainerRestartRule(Part, frozen=True, kw_only=True):
    """What happens when a container exits in a given way."""

    action: str = ""


class Container(Part, frozen=True, kw_only=True):
    """A container or init container; an init container that always restarts is a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = NO_RESOURCES
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()

    @property
    def is_sidecar(self) -> bool:
        """Whether, as an init container, it keeps running beside the others."""
        return self.restart_policy == "Always"


class PodSchedulingGate(Part, frozen=True, kw_only=True):
    """A gate that keeps the pod out of the queue until it is removed."""

    name: str = ""


class PodResourceClaim(Part, frozen=True, kw_only=True):
    """A resource claim of the pod, by name or made from a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodOS(Part, frozen=True, kw_only=True):
    """The operating system a pod says it runs on."""

    name: str = ""


class PodSchedulingGroup(Part, frozen=True, kw_only=True):
    """The group that a pod is scheduled with (gang scheduling)."""

    pod_group_name: str | None = None


class PodSpec(Part, frozen=True, kw_only=True):
    """What a pod asks for."""

    node_name: str = ""
    scheduler_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_selector: dict[str, str] = field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    volumes: tuple[Volume, ...] = ()
    overhead: dict[str, QuantityText] = field(default_factory=dict)
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
