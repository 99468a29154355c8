"""Cluster events and queueing hints: what may make a rejected pod schedulable.

A plugin that rejects pods declares in `events_to_register` which events could change its decision. When one of
them arrives, the queue calls the event's hint for each pod that the plugin had rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntFlag, StrEnum
from typing import Any, NamedTuple, TypeAlias


class Action(IntFlag):
    """What happened to the object. Update actions name what changed, so that hints are called rarely."""

    ADD = 1 << 0
    DELETE = 1 << 1
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    UPDATE_NODE_LABEL = 1 << 3
    UPDATE_NODE_TAINT = 1 << 4
    UPDATE_NODE_CONDITION = 1 << 5
    UPDATE_NODE_ANNOTATION = 1 << 6
    UPDATE_NODE_DECLARED_FEATURE = 1 << 7
    UPDATE_POD_LABEL = 1 << 8
    UPDATE_POD_SCALE_DOWN = 1 << 9
    UPDATE_POD_TOLERATION = 1 << 10
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 11
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 12
    UPDATE = (1 << 13) - (1 << 2)
    ALL = (1 << 13) - 1


class Resource(StrEnum):
    """The kinds of object that events are about, spelt as in Kubernetes; custom kinds are plain strings."""

    POD = "Pod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    POD_GROUP = "scheduling.k8s.io/PodGroup"
    ANY = "*"


class Hint(Enum):
    """The result of a hint for one pod."""

    SKIP = 0
    QUEUE = 1


#: Called with the rejected pod, the object before (None on ADD) and after (None on DELETE).
#: If it raises, the result is QUEUE: a useless retry is better than a forgotten pod.
QueueingHint: TypeAlias = Callable[[Any, Any, Any], Hint]


class ClusterEvent(NamedTuple):
    """An event that a plugin registers for. Without a hint, every such event requeues the pod.

    A custom resource is named `plural.version.group`, for example `foos.v1.example.com`.
    """

    resource: Resource | str
    action: Action
    hint: QueueingHint | None = None

    def matches(self, resource: Resource | str, action: Action) -> bool:
        """Whether *action* on *resource* is one of the registered events."""
        return (self.resource in (Resource.ANY, resource)) and bool(self.action & action)
