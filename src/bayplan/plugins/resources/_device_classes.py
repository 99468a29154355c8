"""Which extended resources are backed by devices: a DeviceClass can provide one (DRAExtendedResource).

A node that does not offer such a resource itself may still have devices of the class, so NodeResourcesFit leaves
the node to DynamicResources.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from bayplan.model import DeviceClass, is_dra_extended_resource_name

if TYPE_CHECKING:
    from bayplan.framework import Informers

#: Every class provides the resource of this prefix and its own name, besides the one it may name.
IMPLICIT_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
#: Shared, because Python makes a new empty frozenset for every call.
_NONE: Final[frozenset[str]] = frozenset()


class DeviceClasses:
    """The extended resources that the device classes of the cluster provide."""

    def __init__(self, informers: Informers) -> None:
        #: Extended resource → the class that provides it.
        self._by_resource: dict[str, DeviceClass] = {}
        informers.on_change(DeviceClass, self._class_changed)

    def backed(self, requests: Mapping[str, int]) -> frozenset[str]:
        """The resources in *requests*, apart from those with the amount 0, that a device class can provide."""
        found = []
        for name, amount in requests.items():
            # All such names have a domain; cpu and memory have none.
            if amount and "/" in name and self.provider(name) is not None:
                found.append(name)
        return frozenset(found) if found else _NONE

    def provider(self, resource: str) -> DeviceClass | None:
        """The class that provides the extended resource, if any."""
        found = self._by_resource.get(resource)
        return found if found is not None and is_dra_extended_resource_name(resource) else None

    def _class_changed(self, old: DeviceClass | None, new: DeviceClass | None) -> None:
        if new is not None and not self._gives_way(new):
            self._forget(old)
            for name in resource_names(new):
                self._by_resource[name] = new
        elif new is None:
            self._forget(old)

    def _gives_way(self, device_class: DeviceClass) -> bool:
        """Whether another class provides the same resource and is newer, or as new with the lower name."""
        other = self._by_resource.get(extended_resource_name(device_class))
        if other is None:
            return False
        age, others = (each.metadata.creation_timestamp or "" for each in (device_class, other))
        return age < others or (age == others and device_class.name >= other.name)

    def _forget(self, device_class: DeviceClass | None) -> None:
        for name in resource_names(device_class) if device_class is not None else ():
            self._by_resource.pop(name, None)


def resource_names(device_class: DeviceClass) -> frozenset[str]:
    """The extended resources that a device class provides."""
    implicit = IMPLICIT_PREFIX + device_class.name
    explicit = extended_resource_name(device_class)
    return frozenset((implicit, explicit)) if explicit else frozenset((implicit,))


def extended_resource_name(device_class: DeviceClass) -> str:
    """The resource that the class itself names; empty if it names none."""
    return device_class.spec.extended_resource_name or ""
