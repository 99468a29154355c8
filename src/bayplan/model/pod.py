"""Pod: the object everything here is about, with what plugins derive from it, worked out once per object."""

from collections.abc import Hashable
from typing import ClassVar, Final, Self

import msgspec

from bayplan.model.host_ports import HostPort, host_ports
from bayplan.model.memo import cached_property
from bayplan.model.meta import OwnerReference
from bayplan.model.node_affinity import RequiredNodeAffinity, required_node_affinity
from bayplan.model.node_selector import PreferredTerms, compile_preferred_terms
from bayplan.model.objects import KubeObject, ObjectError
from bayplan.model.pod_affinity import AffinityTerms, compile_affinity
from bayplan.model.pod_spec import PodSpec
from bayplan.model.pod_status import PodStatus
from bayplan.model.qos import pod_qos
from bayplan.model.quantity_text import QuantityError
from bayplan.model.request_summary import RequestSummary, summarize_requests
from bayplan.model.resources import RequestOptions, Resources, pod_requests
from bayplan.model.sharing import share_parts
from bayplan.model.times import micros_of, time_of

DEFAULT_PREEMPTION_POLICY: Final = "PreemptLowerPriority"
_TERMINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})


#: Derived values that pods alike have in common.
_SHARED: Final = (
    "request_summary",
    "requests",
    "nonzero_requests",
    "qos_class",
    "host_ports",
    "required_node_affinity",
    "preferred_node_affinity",
    "affinity_terms",
)


class Pod(KubeObject, frozen=True, kw_only=True):
    """A pod."""

    KIND: ClassVar[str] = "Pod"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "pods"

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Decode a pod; what it has in common with others is the same object."""
        pod = super().from_json(data)
        share_parts(pod.metadata, pod.spec)
        return pod

    # --- standing -----------------------------------------------------------------------------------------

    @property
    def node_name(self) -> str:
        """The node the pod is bound to, empty if none."""
        return self.spec.node_name

    @property
    def priority(self) -> int:
        """spec.priority; 0 where admission has set none."""
        return self.spec.priority or 0

    @property
    def preemption_policy(self) -> str:
        """Never, or PreemptLowerPriority, which is the default."""
        return self.spec.preemption_policy or DEFAULT_PREEMPTION_POLICY

    @property
    def is_terminal(self) -> bool:
        """Whether the pod has ended, well or badly."""
        return self.status.phase in _TERMINAL_PHASES

    @property
    def is_terminating(self) -> bool:
        """Whether the pod is being deleted."""
        return self.metadata.deletion_timestamp is not None

    @cached_property
    def started_micros(self) -> int | None:
        """When the pod started, in microseconds since the epoch; None if it has not. Raises ValueError."""
        start = time_of(self.status.start_time)
        return None if start is None else micros_of(start)

    @property
    def controller(self) -> OwnerReference | None:
        """The controller that owns the pod, if any."""
        return self.metadata.controller

    @cached_property
    def qos_class(self) -> str:
        """Guaranteed, Burstable or BestEffort."""
        return pod_qos(self.spec, self.status)

    @cached_property
    def template_key(self) -> Hashable | None:
        """Equal for pods alike: same namespace, labels, annotations, controller and spec; None if unknown.

        Volumes that no scheduling rule looks into are left out: each pod has a token volume with its own name.
        """
        spec, status, meta = self.spec, self.status, self.metadata
        if spec.resource_claims or status.container_statuses or status.init_container_statuses or status.resources:
            return None
        named = ""
        if spec.volumes:
            volumes = tuple(volume for volume in spec.volumes if volume.matters_for_placement)
            spec = msgspec.structs.replace(spec, volumes=volumes)
            # Claims of ephemeral volumes are called after the pod.
            named = meta.name if any(volume.ephemeral for volume in volumes) else ""
        return (
            meta.namespace,
            frozenset(meta.labels.items()),
            frozenset(meta.annotations.items()),
            meta.controller,
            meta.deletion_timestamp is not None,
            named,
            msgspec.msgpack.encode(spec),
        )

    def share_derived(self, other: Self) -> None:
        """Take over what was worked out about a pod with the same `template_key`."""
        known = other.__dict__
        for name in _SHARED:
            if name in known:
                self.__dict__[name] = known[name]

    # --- resources ----------------------------------------------------------------------------------------

    @cached_property
    def request_summary(self) -> RequestSummary:
        """All forms of what the pod requests, shared with the pods that request the same."""
        return summarize_requests(self.spec, self.status)

    def requests_with(self, options: RequestOptions) -> Resources:
        """All requests, under any name, with other feature gates than the default ones."""
        return pod_requests(self.spec, self.status, options)

    @cached_property
    def requests(self) -> Resources:
        """What the pod takes of its node, of the resources the scheduler counts (NodeInfo's Requested).

        cpu in thousandths, the rest in units. This and the others raise ObjectError for an invalid quantity.
        """
        return self._requests("requests")

    @property
    def all_requests(self) -> Resources:
        """All requests, under any name."""
        return self._requests("all_requests")

    @property
    def spec_requests(self) -> Resources:
        """What the pod needs to fit on a node: like `requests`, but by its spec alone, and never below 0."""
        return self._requests("spec_requests")

    @cached_property
    def nonzero_requests(self) -> Resources:
        """cpu and memory that the pod adds to its node for scoring (NodeInfo's NonZeroRequested)."""
        return self._requests("nonzero_requests")

    @property
    def scoring_requests(self) -> Resources:
        """All requests of the pod being scored, cpu and memory filled in for every container without."""
        return self._requests("scoring_requests")

    def _requests(self, form: str) -> Resources:
        try:
            requests: Resources = getattr(self.request_summary, form)
        except QuantityError as error:
            raise ObjectError(self.KIND, self.key, "", str(error)) from None
        return requests

    # --- placement ----------------------------------------------------------------------------------------

    @cached_property
    def host_ports(self) -> tuple[HostPort, ...]:
        """The host ports the pod takes."""
        return host_ports(self.spec)

    @cached_property
    def required_node_affinity(self) -> RequiredNodeAffinity:
        """nodeSelector and required node affinity, compiled."""
        return required_node_affinity(self.spec)

    @cached_property
    def preferred_node_affinity(self) -> PreferredTerms:
        """Preferred node affinity, compiled. Raises SelectorError."""
        affinity = self.spec.affinity.node_affinity if self.spec.affinity else None
        return compile_preferred_terms(affinity.preferred if affinity else ())

    @cached_property
    def affinity_terms(self) -> AffinityTerms:
        """Pod affinity and anti-affinity, compiled. Raises SelectorError."""
        return compile_affinity(self.spec.affinity, self.metadata.namespace)
