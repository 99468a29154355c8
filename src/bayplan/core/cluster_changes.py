"""Maps a change of an object to queue events.

In: the object before and after. Out: the events. An update of a node or a pod is split into the properties that
matter for scheduling, so that queueing hints run only for changes a plugin has registered for. Pure functions;
`core.event_handlers` decides when the queue gets the events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from bayplan.framework import Action, Resource
from bayplan.model import (
    ConfigMap,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    DeviceClass,
    ElasticQuota,
    KubeObject,
    Node,
    ObjectError,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    Quantity,
    QuantityError,
    QuantityText,
    ResourceClaim,
    ResourceSlice,
    Secret,
    StorageClass,
    VolumeAttachment,
)
from bayplan.queue.cluster_events import ASSIGNED_POD, UNSCHEDULED_POD, QueueEvent

#: Kinds whose changes become one event. Changes of other kinds (a Service, say) help no pod.
RESOURCES: Final[Mapping[type[KubeObject], Resource | str]] = MappingProxyType(
    {
        PersistentVolume: Resource.PERSISTENT_VOLUME,
        PersistentVolumeClaim: Resource.PERSISTENT_VOLUME_CLAIM,
        StorageClass: Resource.STORAGE_CLASS,
        CSINode: Resource.CSI_NODE,
        CSIDriver: Resource.CSI_DRIVER,
        CSIStorageCapacity: Resource.CSI_STORAGE_CAPACITY,
        VolumeAttachment: Resource.VOLUME_ATTACHMENT,
        ResourceClaim: Resource.RESOURCE_CLAIM,
        ResourceSlice: Resource.RESOURCE_SLICE,
        DeviceClass: Resource.DEVICE_CLASS,
        PodGroup: "podgroups.v1alpha1.scheduling.x-k8s.io",
        ElasticQuota: "elasticquotas.v1alpha1.scheduling.x-k8s.io",
        # Watched only where a plugin asks for them.
        ConfigMap: "configmaps.v1",
        Secret: "secrets.v1",
    }
)


def object_changes(old: KubeObject | None, new: KubeObject | None) -> Sequence[QueueEvent]:
    """The events of any object of the model; *old* is None on creation, *new* on deletion."""
    if isinstance(old, Node) and isinstance(new, Node):
        return node_changes(old, new)
    if isinstance(old, Pod) and isinstance(new, Pod):
        return pod_changes(old, new)
    present = new if new is not None else old
    if present is None:
        return ()
    resource: Resource | str | None = RESOURCES.get(type(present))
    if isinstance(present, Node):
        resource = Resource.NODE
    elif isinstance(present, Pod):
        resource = _pod_resource(present)
    return () if resource is None else (resource_change(resource, old, new),)


def resource_change(resource: Resource | str, old: object | None, new: object | None) -> QueueEvent:
    """The event of a resource by its name, custom ones (`foos.v1.example.com`) included."""
    if old is None:
        return QueueEvent(resource, Action.ADD)
    return QueueEvent(resource, Action.DELETE if new is None else Action.UPDATE)


# --- nodes ----------------------------------------------------------------------------------------


def node_changes(old: Node, new: Node) -> Sequence[QueueEvent]:
    """One event for each property that changed; none if nothing did that matters."""
    return tuple(QueueEvent(Resource.NODE, action) for action in _node_actions(old, new))


def _node_actions(old: Node, new: Node) -> Iterator[Action]:
    # Uncordoning a node counts as a change of its taints, whether or not its taint is removed as well.
    if old.spec.unschedulable and not new.spec.unschedulable:
        yield Action.UPDATE_NODE_TAINT
    if not _are_same_amounts(old.status.allocatable, new.status.allocatable):
        yield Action.UPDATE_NODE_ALLOCATABLE
    if old.labels != new.labels:
        yield Action.UPDATE_NODE_LABEL
    if old.taints != new.taints:
        yield Action.UPDATE_NODE_TAINT
    if _condition_statuses(old) != _condition_statuses(new):
        yield Action.UPDATE_NODE_CONDITION
    if old.annotations != new.annotations:
        yield Action.UPDATE_NODE_ANNOTATION
    if old.status.declared_features != new.status.declared_features:
        yield Action.UPDATE_NODE_DECLARED_FEATURE


def _condition_statuses(node: Node) -> dict[str, str]:
    """Statuses by type, without times, which change with every heartbeat."""
    return {condition.type: condition.status for condition in node.status.conditions}


def _are_same_amounts(old: Mapping[str, QuantityText], new: Mapping[str, QuantityText]) -> bool:
    """Compared by value: `1` and `1000m` are the same."""
    if old == new:
        return True
    if old.keys() != new.keys():
        return False
    try:
        return all(Quantity.parse(amount) == Quantity.parse(new[name]) for name, amount in old.items())
    except QuantityError:
        return False


# --- pods -----------------------------------------------------------------------------------------


def pod_changes(old: Pod, new: Pod) -> Sequence[QueueEvent]:
    """One event for each property that changed; the general UPDATE if something else did."""
    resource = _pod_resource(new)
    return tuple(QueueEvent(resource, action) for action in _pod_actions(old, new)) or (
        QueueEvent(resource, Action.UPDATE),
    )


def _pod_resource(pod: Pod) -> str:
    return ASSIGNED_POD if pod.spec.node_name else UNSCHEDULED_POD


def _pod_actions(old: Pod, new: Pod) -> Iterator[Action]:
    if old.labels != new.labels:
        yield Action.UPDATE_POD_LABEL
    if _is_scaled_down(old, new):
        yield Action.UPDATE_POD_SCALE_DOWN
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        yield Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    # Tolerations can only be added, so comparing their number is enough.
    if len(old.spec.tolerations) != len(new.spec.tolerations):
        yield Action.UPDATE_POD_TOLERATION
    if (
        old.status.resource_claim_statuses != new.status.resource_claim_statuses
        or old.status.extended_resource_claim_status != new.status.extended_resource_claim_status
    ):
        yield Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM


def _is_scaled_down(old: Pod, new: Pod) -> bool:
    """Whether the pod requests less of anything."""
    try:
        before, after = old.all_requests, new.all_requests
    except ObjectError:
        return False
    return any(name not in after or amount > after[name] for name, amount in before.items())
