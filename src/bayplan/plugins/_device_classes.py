"""Which extended resources are backed by devices: a DeviceClass can stand in for one (DRAExtendedResource).

A node that does not offer such a resource itself may still have devices of the class, so NodeResourcesFit leaves
the node to DynamicResources.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from bayplan.model import is_dra_extended_resource_name

if TYPE_CHECKING:
    from bayplan.framework import Informers

API_VERSION: Final = "resource.k8s.io/v1"
#: Every class stands for a resource of this prefix and its own name, besides the one it may name.
IMPLICIT_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
#: One for all: Python makes a new one for every call.
_NONE: Final[frozenset[str]] = frozenset()


class DeviceClasses:
    """The device classes of the cluster, as far as extended resources go."""

    def __init__(self, informers: Informers) -> None:
        self._lister = informers.custom(API_VERSION, "deviceclasses")

    def backed(self, resources: Iterable[str]) -> frozenset[str]:
        """Those of *resources* that a device class stands behind."""
        # All such names have a domain; cpu and memory have none.
        candidates = [name for name in resources if "/" in name and is_dra_extended_resource_name(name)]
        if not candidates:
            return _NONE
        known = {name for each in self._lister.list() for name in resource_names(each)}
        return frozenset(known.intersection(candidates))


def resource_names(device_class: dict[str, Any]) -> frozenset[str]:
    """The extended resources that a device class stands behind."""
    implicit = IMPLICIT_PREFIX + device_class["metadata"]["name"]
    explicit = extended_resource_name(device_class)
    return frozenset((implicit, explicit)) if explicit else frozenset((implicit,))


def extended_resource_name(device_class: dict[str, Any]) -> str:
    """The resource that the class itself names; empty if it names none."""
    return (device_class.get("spec") or {}).get("extendedResourceName") or ""
