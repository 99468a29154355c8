"""Pod: the object that is scheduled, with the values that plugins and the cache derive from it.

In: the bytes of a watch event. Out: an immutable pod. Each derived value is computed once per object, and pods of
one template share them: equal fields are the same object (`InternPool`), and pods with the same `equivalence_key`
take over each other's derived values (`share_derived`).
"""

from collections.abc import Callable, Hashable
from typing import Any, ClassVar, Final, Self

import msgspec
from msgspec.structs import force_setattr

from bayplan.model.host_ports import HostPort, host_ports
from bayplan.model.kube_object import KubeObject, ObjectError, OwnerReference, cached_property
from bayplan.model.node_selectors import (
    PreferredTerms,
    RequiredNodeAffinity,
    compile_preferred_terms,
    required_node_affinity,
)
from bayplan.model.pod_affinity import AffinityTerms, compile_affinity
from bayplan.model.pod_fields import Container, PodSpec, PodStatus
from bayplan.model.qos import pod_qos
from bayplan.model.read_only import EMPTY, ReadOnlyDict, freeze
from bayplan.model.resource_requests import (
    RequestSummary,
    Resources,
    summarize_requests,
)
from bayplan.model.times import micros_of, time_of

DEFAULT_PREEMPTION_POLICY: Final = "PreemptLowerPriority"
_TERMINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})

#: Derived values that pods with the same equivalence key have in common.
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

#: More values than most clusters have; a full pool is cleared.
MAX_INTERNED: Final = 8192

_encode: Final = msgspec.msgpack.Encoder().encode


class InternPool:
    """Values of one field that are stored once, by their encoding.

    Pods of one template have the same containers, tolerations and labels. That is half of the memory of a decoded
    pod, and comparing a value with itself takes no time.
    """

    def __init__(self, field: str, freeze: Callable[[Any], Any] = lambda value: value) -> None:
        """*freeze* makes a value read-only that was not seen before, and returns it or what replaces it."""
        self._field = field
        self._freeze = freeze
        self._known: dict[bytes, Any] = {}

    def intern(self, struct: msgspec.Struct) -> None:
        """Replace the field's value by the equal one seen before. *struct* must not be shared yet."""
        value = getattr(struct, self._field)
        key = _encode(value)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_INTERNED:
                self._known.clear()
            known = self._known[key] = self._freeze(value)
        if known is not value:
            force_setattr(struct, self._field, known)


def _freeze_containers(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    for container in containers:
        container.resources.freeze()
    return containers


_containers: Final = InternPool("containers", _freeze_containers)
_init_containers: Final = InternPool("init_containers", _freeze_containers)
_tolerations: Final = InternPool("tolerations")
_labels: Final = InternPool("labels", ReadOnlyDict)


class Pod(KubeObject, frozen=True, kw_only=True):
    """A pod."""

    KIND: ClassVar[str] = "Pod"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "pods"

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Decode a pod; fields that it has in common with other pods are the same objects. Raises ObjectError."""
        pod = super().from_json(data)
        if pod.spec.tolerations:
            _tolerations.intern(pod.spec)
        return pod

    def freeze(self) -> None:
        """What pods of one template have in common is made read-only once for all of them."""
        spec, metadata = self.spec, self.metadata
        if metadata.labels:
            _labels.intern(metadata)
        elif metadata.labels is not EMPTY:
            freeze(metadata, "labels")
        if metadata.annotations is not EMPTY:
            freeze(metadata, "annotations")
        if spec.containers:
            _containers.intern(spec)
        if spec.init_containers:
            _init_containers.intern(spec)
        spec.freeze()
        self.status.freeze()

    # --- identity and state -------------------------------------------------------------------------------

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
        """Whether the pod has succeeded or failed."""
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
        meta = self.metadata
        return meta.controller if meta.owner_references else None

    @cached_property
    def qos_class(self) -> str:
        """Guaranteed, Burstable or BestEffort."""
        return pod_qos(self.spec, self.status)

    @cached_property
    def equivalence_key(self) -> Hashable | None:
        """Equal for pods that are scheduled alike: same namespace, labels, annotations, controller and spec.

        None for a pod that is in a class of its own. Volumes that no plugin reads are left out, because each pod
        has a token volume with its own name.
        """
        spec, status, meta = self.spec, self.status, self.metadata
        if status.container_statuses or status.init_container_statuses or status.resources:
            return None
        named = ""
        if spec.volumes:
            volumes = tuple(volume for volume in spec.volumes if volume.matters_for_placement)
            spec = msgspec.structs.replace(spec, volumes=volumes)
            # Claims of ephemeral volumes are named after the pod.
            named = meta.name if any(volume.ephemeral for volume in volumes) else ""
        return (
            meta.namespace,
            frozenset(meta.labels.items()),
            frozenset(meta.annotations.items()),
            meta.controller if meta.owner_references else None,
            meta.deletion_timestamp is not None,
            named,
            msgspec.msgpack.encode(spec),
        )

    def share_derived(self, other: Self) -> None:
        """Take over the derived values of a pod with the same `equivalence_key`."""
        known = other.__dict__
        for name in _SHARED:
            if name in known:
                self.__dict__[name] = known[name]

    # --- resources ----------------------------------------------------------------------------------------

    @cached_property
    def request_summary(self) -> RequestSummary:
        """All forms of what the pod requests, shared with the pods that request the same. Never raises."""
        return summarize_requests(self.spec, self.status)

    @cached_property
    def requests(self) -> Resources:
        """What the pod takes of its node, of the resources the scheduler counts (NodeInfo's Requested).

        cpu in thousandths, the rest in units. This and the other forms raise ObjectError for an invalid quantity.
        """
        return self._valid_requests().requests

    @property
    def all_requests(self) -> Resources:
        """All requests, under any name."""
        return self._valid_requests().all_requests

    @property
    def spec_requests(self) -> Resources:
        """What the pod needs to fit on a node: like `requests`, but by its spec alone, and never below 0."""
        return self._valid_requests().spec_requests

    @cached_property
    def nonzero_requests(self) -> Resources:
        """cpu and memory that the pod adds to its node for scoring (NodeInfo's NonZeroRequested)."""
        return self._valid_requests().nonzero_requests

    @property
    def scoring_requests(self) -> Resources:
        """All requests of the pod being scored, with defaults for containers that request no cpu or memory."""
        return self._valid_requests().scoring_requests

    def _valid_requests(self) -> RequestSummary:
        summary = self.request_summary
        if summary.error:
            raise ObjectError(self.KIND, self.key, "", summary.error)
        return summary

    # --- placement ----------------------------------------------------------------------------------------

    @cached_property
    def host_ports(self) -> tuple[HostPort, ...]:
        """The host ports the pod uses."""
        spec = self.spec
        for container in (*spec.init_containers, *spec.containers):
            if container.ports:
                return host_ports(spec)
        return ()

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
