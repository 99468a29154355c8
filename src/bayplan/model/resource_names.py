"""Names of resources: which are extended, huge pages or attachable volumes, and which the scheduler counts."""

from functools import lru_cache
from typing import Final

from bayplan.model.label_validation import label_key_errors

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"
STORAGE: Final = "storage"

_HUGE_PAGES = "hugepages-"
_ATTACHABLE = "attachable-volumes-"
_NATIVE = "kubernetes.io/"
_QUOTA = "requests."
#: DRA's implicit extended resources, `deviceclass.resource.kubernetes.io/<device class>`.
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"


def is_native_resource(name: str) -> bool:
    """Whether the name has no domain, or one that ends in kubernetes.io."""
    return "/" not in name or is_prefixed_native_resource(name)


def is_prefixed_native_resource(name: str) -> bool:
    """Whether the name contains the domain kubernetes.io."""
    return _NATIVE in name


@lru_cache(maxsize=1024)
def is_extended_resource_name(name: str) -> bool:
    """Whether the name is a valid one in a domain of its own, like example.com/gpu."""
    if is_native_resource(name) or name.startswith(_QUOTA):
        return False
    return not label_key_errors(_QUOTA + name)


def is_huge_page_resource_name(name: str) -> bool:
    """Whether the resource is huge pages of some size."""
    return name.startswith(_HUGE_PAGES)


def is_attachable_volume_resource_name(name: str) -> bool:
    """Whether the resource is a limit of attachable volumes."""
    return name.startswith(_ATTACHABLE)


def is_dra_extended_resource_name(name: str) -> bool:
    """Whether the resource may be backed by devices of a device class."""
    return is_extended_resource_name(name) or name.startswith(_DEVICE_CLASS)


@lru_cache(maxsize=1024)
def is_scalar_resource_name(name: str) -> bool:
    """Whether the scheduler counts the resource in addition to cpu, memory, ephemeral-storage and pods."""
    return (
        is_extended_resource_name(name)
        or is_huge_page_resource_name(name)
        or is_prefixed_native_resource(name)
        or is_attachable_volume_resource_name(name)
    )


def is_counted_resource(name: str) -> bool:
    """Whether the scheduler counts the resource; it ignores all other names in requests and allocatable."""
    return name in (CPU, MEMORY, EPHEMERAL_STORAGE, PODS) or is_scalar_resource_name(name)


def is_pod_level_resource(name: str) -> bool:
    """Whether pod-level requests may have the resource."""
    return name in (CPU, MEMORY) or is_huge_page_resource_name(name)
