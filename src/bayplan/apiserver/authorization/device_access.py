"""Who may use devices as an administrator, and who may write which part of a claim's status.

Admin access needs a label on the claim's namespace. In the status, the allocation and the reservations need the
right to `resourceclaims/binding`, and what a driver reports the right to `resourceclaims/driver`, whose resource
name is the driver. Such resources exist for RBAC only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.authorization.rbac import AccessRequest, RbacAuthorizer
from bayplan.apiserver.storage.versioned_store import Key, VersionedStore
from bayplan.apiserver.validation.field_errors import forbidden

if TYPE_CHECKING:
    from bayplan.apiserver.registry.attributes import AdmissionAttributes

_ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"
_ARBITRARY_NODE: Final = "arbitrary-node:"
_GROUP: Final = "resource.k8s.io"
_CLAIMS: Final = "resourceclaims"


class DeviceAccess:
    """See the module docstring."""

    def __init__(self, store: VersionedStore, authorizer: RbacAuthorizer) -> None:
        self._store = store
        self._authorizer = authorizer

    # --- admin access -------------------------------------------------------------------------------------

    def creation_causes(self, namespace: str, requests: Iterable[Mapping[str, Any]]) -> list[StatusCause]:
        """Errors of the requests of a new claim or template."""
        for i, request in enumerate(requests):
            if (request.get("exactly") or {}).get("adminAccess"):
                return self._admin_causes(namespace, f"spec.devices.requests[{i}].adminAccess")
        return []

    def _admin_causes(self, namespace: str, path: str) -> list[StatusCause]:
        entry = self._store.get(Key("namespaces", "", namespace))
        if entry is not None and entry.labels.get(_ADMIN_LABEL) == "true":
            return []
        label = f"`{_ADMIN_LABEL}: true`"
        return [forbidden(path, f"admin access to devices requires the {label} label on the containing namespace")]

    # --- status -------------------------------------------------------------------------------------------

    def status_causes(self, attributes: AdmissionAttributes) -> list[StatusCause]:
        """Errors of a write to a claim's status."""
        new = (attributes.obj or {}).get("status", {})
        old = (attributes.old or {}).get("status", {})
        found = []
        admin = next((i for i, result in enumerate(_results(new)) if result.get("adminAccess")), None)
        if admin is not None and not any(result.get("adminAccess") for result in _results(old)):
            path = f"status.allocation.devices.results[{admin}].adminAccess"
            found += self._admin_causes(attributes.namespace, path)
        if any(new.get(key) != old.get(key) for key in ("allocation", "reservedFor")):
            found += self._binding_causes(attributes)
        if new.get("allocation") is not None:
            for driver in sorted(_changed_drivers(new, old)):
                found += self._driver_causes(attributes, driver)
        return found

    def _binding_causes(self, attributes: AdmissionAttributes) -> list[StatusCause]:
        access = AccessRequest(attributes.verb, "", _GROUP, _CLAIMS, "binding")
        if self._authorizer.decide(attributes.user, access)[0]:
            return []
        what = f'requires resource="resourceclaims/binding", verb="{access.verb}" permission'
        why = f"{_CLAIMS}.{_GROUP} is forbidden: {access.refusal(attributes.user)}"
        return [forbidden("status.allocation", f"changing status.allocation or status.reservedFor {what}: {why}")]

    def _driver_causes(self, attributes: AdmissionAttributes, driver: str) -> list[StatusCause]:
        verb = f"{_ARBITRARY_NODE}{attributes.verb}"
        access = AccessRequest(verb, attributes.namespace, _GROUP, _CLAIMS, "driver", driver)
        if self._authorizer.decide(attributes.user, access)[0]:
            return []
        what = f'requires resource="resourceclaims/driver", verb="[{verb}]" permission'
        why = f'{_CLAIMS}.{_GROUP} "{driver}" is forbidden: {access.refusal(attributes.user)}'
        return [forbidden("status.devices", f"changing status.devices {what}: {why}")]


def _results(status: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    results: Sequence[Mapping[str, Any]] = (status.get("allocation") or {}).get("devices", {}).get("results", ())
    return results


def _changed_drivers(new: Mapping[str, Any], old: Mapping[str, Any]) -> set[str]:
    """Drivers whose reports differ."""
    after, before = new.get("devices", []), old.get("devices", [])
    changed = [device for device in after if device not in before]
    changed += [device for device in before if device not in after]
    return {device.get("driver", "") for device in changed}
