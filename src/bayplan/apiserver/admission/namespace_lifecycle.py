"""NamespaceLifecycle: objects need an active namespace, and system namespaces cannot be deleted."""

from __future__ import annotations

from bayplan.apiserver.admission.lookup import ObjectLookup, refusal
from bayplan.apiserver.api_errors import not_found
from bayplan.apiserver.registry.attributes import CREATE, DELETE, AdmissionAttributes

_IMMORTAL = ("default", "kube-system", "kube-public")
_REVIEWS = ("authorization.k8s.io", "authentication.k8s.io")


class NamespaceLifecycle:
    """See the module docstring."""

    name = "NamespaceLifecycle"

    def __init__(self, lookup: ObjectLookup) -> None:
        self._lookup = lookup

    def admit(self, attributes: AdmissionAttributes) -> None:
        resource = attributes.resource
        if not resource.namespaced or not attributes.namespace or resource.group in _REVIEWS:
            return
        namespace = self._lookup.get("namespaces", "", attributes.namespace)
        if namespace is None:
            raise not_found("", "namespaces", attributes.namespace)
        phase = namespace.get("status", {}).get("phase")
        if attributes.operation == CREATE and phase == "Terminating":
            name = attributes.namespace
            why = f"unable to create new content in namespace {name} because it is being terminated"
            error = refusal(attributes, why)
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {name} is being terminated",
                "field": "metadata.namespace",
            }
            error.details = {**(error.details or {}), "causes": [cause]}
            raise error

    def check(self, attributes: AdmissionAttributes) -> None:
        is_namespace = attributes.resource.plural == "namespaces" and not attributes.resource.group
        if is_namespace and attributes.operation == DELETE and attributes.name in _IMMORTAL:
            raise refusal(attributes, "this namespace may not be deleted")
