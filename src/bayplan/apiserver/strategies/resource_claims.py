"""resource.k8s.io: claims, templates of claims, slices and device classes."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.apiserver.causes import immutable
from bayplan.apiserver.status import Cause
from bayplan.apiserver.strategy import Object, StatusStrategy, Strategy


def _default_requests(spec: Object) -> None:
    for request in spec.get("devices", {}).get("requests") or ():
        for device in (request.get("exactly"), *request.get("firstAvailable", ())):
            if device is not None:
                if not device.get("allocationMode"):
                    device["allocationMode"] = "ExactCount"
                if device["allocationMode"] == "ExactCount" and not device.get("count"):
                    device["count"] = 1


class ResourceClaimStrategy(StatusStrategy):
    """ResourceClaim: its spec never changes."""

    counts_generations = False
    returns_deleted = True

    def default(self, obj: Object) -> None:
        _default_requests(obj.setdefault("spec", {}))

    def prepare_status_update(self, new: Object, old: Object) -> None:
        super().prepare_status_update(new, old)
        for key in ("labels", "annotations", "finalizers", "ownerReferences"):
            if key in old["metadata"]:
                new["metadata"][key] = old["metadata"][key]
            else:
                new["metadata"].pop(key, None)

    def validate_update(self, new: Object, old: Object) -> list[Cause]:
        return [*self.validate(new), *immutable("spec", new.get("spec"), old.get("spec"))]


class ResourceClaimTemplateStrategy(Strategy):
    """ResourceClaimTemplate: neither does what it holds."""

    returns_deleted = True

    def default(self, obj: Object) -> None:
        _default_requests(obj.setdefault("spec", {}).setdefault("spec", {}))

    def validate_update(self, new: Object, old: Object) -> list[Cause]:
        return [*self.validate(new), *immutable("spec", new.get("spec"), old.get("spec"))]


class CountedStrategy(Strategy):
    """DeviceClass."""

    counts_generations = True
    returns_deleted = True


class ResourceSliceStrategy(CountedStrategy):
    """resource.k8s.io/v1 ResourceSlice: found by its node, or by its driver."""

    selectable_fields = ("spec.nodeName", "spec.driver")

    def fields(self, obj: Object) -> Mapping[str, str]:
        spec = obj.get("spec", {})
        return {"spec.nodeName": spec.get("nodeName", ""), "spec.driver": spec.get("driver", "")}

    def unknown_field(self, label: str) -> str:
        return f"field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {label}"
