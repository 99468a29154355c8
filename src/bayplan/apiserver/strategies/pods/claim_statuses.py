"""Validation of what a pod's status says about its resource claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.validation.field_errors import duplicate, each, invalid, required
from bayplan.apiserver.validation.name_validation import label_errors, subdomain_errors

_OF_CONTAINER = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
_OF_RESOURCE = (
    "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
    "spec.containers.resources.requests"
)


def claim_status_list_causes(status: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[StatusCause]:
    """Errors of `resourceClaimStatuses` and `extendedResourceClaimStatus`."""
    known = {claim.get("name") for claim in spec.get("resourceClaims", ())}
    seen: set[str] = set()
    for i, entry in enumerate(status.get("resourceClaimStatuses", ())):
        path, name = f"status.resourceClaimStatuses[{i}]", entry.get("name", "")
        if name not in known:
            yield invalid(f"{path}.name", name, "must match the name of an entry in `spec.resourceClaims`")
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        if "resourceClaimName" in entry:
            claim = entry["resourceClaimName"]
            yield from each(f"{path}.resourceClaimName", claim, subdomain_errors(claim))
    if "extendedResourceClaimStatus" in status:
        yield from _extended_causes(status["extendedResourceClaimStatus"], spec)


def _extended_causes(entry: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[StatusCause]:
    path = "status.extendedResourceClaimStatus"
    containers = {
        container.get("name"): container.get("resources", {}).get("requests", {})
        for key in ("initContainers", "containers")
        for container in spec.get(key) or ()
    }
    mappings = entry.get("requestMappings") or ()
    if not mappings:
        yield required(f"{path}.requestMappings", "at least one request mapping is required")
    seen: set[tuple[str, ...]] = set()
    for i, mapping in enumerate(mappings):
        where = f"{path}.requestMappings[{i}]"
        keys = ("containerName", "resourceName", "requestName")
        names = tuple(mapping.get(key, "") for key in keys)
        container, resource, request = names
        if container not in containers:
            yield invalid(f"{where}.containerName", container, _OF_CONTAINER)
        elif resource not in containers[container]:
            yield invalid(f"{where}.resourceName", resource, _OF_RESOURCE)
        yield from each(f"{path}.requestName", request, label_errors(request))
        if names in seen:
            yield from (duplicate(f"{where}.{key}", name) for key, name in zip(keys, names, strict=True))
        seen.add(names)
    claim = entry.get("resourceClaimName", "")
    if claim:
        yield from each(f"{path}.resourceClaimName", claim, subdomain_errors(claim))
    else:
        yield required(f"{path}.resourceClaimName")
