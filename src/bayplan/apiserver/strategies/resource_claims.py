"""resource.k8s.io: claims, claim templates, slices and device classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.authorization.device_access import DeviceAccess
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy, StatusStrategy, keep_metadata
from bayplan.apiserver.strategies.devices.claim_status_validation import (
    allocated_device,
    allocated_devices,
    allocation_results,
    claim_status_causes,
)
from bayplan.apiserver.strategies.devices.claim_validation import (
    MAX_CONFIGURATIONS,
    claim_spec_causes,
    configuration_causes,
    default_requests,
    default_tolerations,
    selector_causes,
)
from bayplan.apiserver.strategies.devices.device_lists import list_causes
from bayplan.apiserver.strategies.devices.slice_validation import slice_spec_causes
from bayplan.apiserver.validation.field_errors import immutable, invalid
from bayplan.apiserver.validation.metadata_validation import common_causes
from bayplan.apiserver.validation.quantity_validation import is_extended
from bayplan.release import ReleaseFacts

if TYPE_CHECKING:
    from bayplan.apiserver.registry.attributes import AdmissionAttributes

#: Fields of devices and attributes behind feature gates that are off by default.
_GATED_OF_DEVICES = ("nodeAllocatableResourceMappings",)
_GATED_OF_ATTRIBUTES = ("bools", "ints", "strings", "versions")


class ResourceClaimStrategy(StatusStrategy):
    """ResourceClaim: its spec is immutable, and so is an allocation until it is taken back."""

    counts_generations = False
    returns_deleted = True

    def __init__(self, access: DeviceAccess, facts: ReleaseFacts) -> None:
        self._access = access
        self._facts = facts

    def default(self, obj: Object) -> None:
        default_requests(obj.setdefault("spec", {}))
        for result in allocation_results(obj.get("status", {})):
            default_tolerations(result)

    def prepare_status_update(self, new: Object, old: Object) -> None:
        super().prepare_status_update(new, old)
        keep_metadata(new, old)
        _forget_deallocated(new.setdefault("status", {}), old.get("status", {}))

    def access_causes(self, attributes: AdmissionAttributes) -> list[StatusCause]:
        if attributes.old is None:
            return self._access.creation_causes(attributes.namespace, _requests((attributes.obj or {})["spec"]))
        return self._access.status_causes(attributes) if attributes.subresource == "status" else []

    def validate(self, obj: Object) -> list[StatusCause]:
        return list(claim_spec_causes(obj["spec"], "spec", self._facts))

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        return immutable("spec", new.get("spec"), old.get("spec"))

    def validate_status_update(self, new: Object, old: Object) -> list[StatusCause]:
        return list(claim_status_causes(new, old, self._facts))


def _requests(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return spec.get("devices", {}).get("requests") or []


def _forget_deallocated(status: Object, old: Mapping[str, Any]) -> None:
    """Drop reports about devices that the claim has no longer."""
    gone = allocated_devices(old) - allocated_devices(status)
    kept = [device for device in status.get("devices", ()) if allocated_device(device) not in gone]
    if kept:
        status["devices"] = kept
    else:
        status.pop("devices", None)


class ResourceClaimTemplateStrategy(RestStrategy):
    """ResourceClaimTemplate: its spec is immutable."""

    returns_deleted = True

    def __init__(self, access: DeviceAccess, facts: ReleaseFacts) -> None:
        self._access = access
        self._facts = facts

    def default(self, obj: Object) -> None:
        default_requests(obj.setdefault("spec", {}).setdefault("spec", {}))

    def access_causes(self, attributes: AdmissionAttributes) -> list[StatusCause]:
        if attributes.old is not None:
            return []
        spec = (attributes.obj or {})["spec"].get("spec", {})
        return self._access.creation_causes(attributes.namespace, _requests(spec))

    def validate(self, obj: Object) -> list[StatusCause]:
        spec = obj["spec"]
        found = common_causes(spec.get("metadata", {}), "spec.metadata")
        return [*found, *claim_spec_causes(spec.get("spec", {}), "spec.spec", self._facts)]

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        return [*self.validate(new), *immutable("spec", new.get("spec"), old.get("spec"))]


class DeviceClassStrategy(RestStrategy):
    """DeviceClass: selectors and configuration for a kind of devices."""

    counts_generations = True
    returns_deleted = True

    def validate(self, obj: Object) -> list[StatusCause]:
        return list(_class_causes(obj["spec"], {}))

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        return list(_class_causes(new["spec"], old["spec"]))


def _class_causes(spec: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[StatusCause]:
    yield from selector_causes(spec.get("selectors", ()), "spec.selectors")
    configuration = spec.get("config", ())
    stored = configuration == old.get("config")

    def causes(entry: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
        return configuration_causes(entry, path, stored=stored)

    yield from list_causes(configuration, MAX_CONFIGURATIONS, "spec.config", causes)
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended(name):
        yield invalid("spec.extendedResourceName", name, "must be a valid extended resource name")


class ResourceSliceStrategy(RestStrategy):
    """ResourceSlice: devices of a driver; selectable by node and by driver."""

    counts_generations = True
    returns_deleted = True
    selectable_fields = ("spec.nodeName", "spec.driver")

    def __init__(self, now: Callable[[], str], facts: ReleaseFacts) -> None:
        self._now = now
        self._facts = facts

    def default(self, obj: Object) -> None:
        for device in obj.setdefault("spec", {}).get("devices", ()):
            for taint in device.get("taints", ()):
                if not taint.get("timeAdded"):
                    taint["timeAdded"] = self._now()

    def prepare_create(self, obj: Object) -> None:
        _drop_gated(obj["spec"])

    def prepare_update(self, new: Object, old: Object) -> None:
        _drop_gated(new["spec"])

    def validate(self, obj: Object) -> list[StatusCause]:
        return list(slice_spec_causes(obj["spec"], None, self._facts))

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        return list(slice_spec_causes(new["spec"], old["spec"], self._facts))

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        driver = obj["spec"].get("driver", "")
        if driver == driver.lower():
            return []
        text = f'driver names should be lowercase; "{driver}" contains uppercase characters'
        return [f"spec.driver: {text}"]

    def fields(self, obj: Object) -> Mapping[str, str]:
        spec = obj.get("spec", {})
        return {"spec.nodeName": spec.get("nodeName", ""), "spec.driver": spec.get("driver", "")}

    def unknown_field(self, label: str) -> str:
        return f"field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {label}"


def _drop_gated(spec: Mapping[str, Any]) -> None:
    for device in spec.get("devices", ()):
        for key in _GATED_OF_DEVICES:
            device.pop(key, None)
        for attribute in device.get("attributes", {}).values():
            for key in _GATED_OF_ATTRIBUTES:
                attribute.pop(key, None)
