"""The supported kinds: from apiVersion and kind to the type, and from a type to its path in the API."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from bayplan.model.custom_resources import ElasticQuota, PodGroup
from bayplan.model.kube_object import KubeObject, ObjectError
from bayplan.model.node import Namespace, Node
from bayplan.model.persistent_volumes import PersistentVolume, PersistentVolumeClaim
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import DeviceClass, ResourceClaim, ResourceClaimTemplate
from bayplan.model.resource_slices import DeviceTaintRule, ResourceSlice
from bayplan.model.small_kinds import ConfigMap, Event, Lease, Secret
from bayplan.model.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment
from bayplan.model.workloads import (
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)


class Kind(NamedTuple):
    """A kind of object and its place in the API."""

    api_version: str
    name: str
    type: type[KubeObject]
    plural: str
    namespaced: bool

    @property
    def path(self) -> str:
        """The path of the collection over all namespaces: /api/v1/pods, /apis/apps/v1/replicasets."""
        root = "apis" if "/" in self.api_version else "api"
        return f"/{root}/{self.api_version}/{self.plural}"


_TYPES: Final[tuple[type[KubeObject], ...]] = (
    Pod,
    Node,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CSINode,
    CSIDriver,
    CSIStorageCapacity,
    VolumeAttachment,
    PodDisruptionBudget,
    PriorityClass,
    Service,
    ReplicaSet,
    StatefulSet,
    ReplicationController,
    Lease,
    Event,
    ConfigMap,
    Secret,
    PodGroup,
    ElasticQuota,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    DeviceClass,
    DeviceTaintRule,
)


def kind_of(cls: type[KubeObject]) -> Kind:
    """The kind of a type."""
    return Kind(cls.API_VERSION, cls.KIND, cls, cls.PLURAL, cls.NAMESPACED)


#: All kinds by apiVersion and kind.
KINDS: Final[Mapping[tuple[str, str], Kind]] = MappingProxyType(
    {(cls.API_VERSION, cls.KIND): kind_of(cls) for cls in _TYPES}
)


def decode_object(mapping: Mapping[str, Any]) -> KubeObject:
    """Convert an object by its own apiVersion and kind. Raises ObjectError, also for an unknown kind."""
    api_version, kind = str(mapping.get("apiVersion", "")), str(mapping.get("kind", ""))
    known = KINDS.get((api_version, kind))
    if known is None:
        raise ObjectError(kind or "object", "", "", f"unknown kind {kind!r} of apiVersion {api_version!r}")
    return known.type.from_dict(mapping)
