"""Allocates addresses and node ports of services.

In kube-apiserver this is part of the registry, not an admission plugin; it runs at the same point of a request.
"""

from __future__ import annotations

from bayplan.apiserver.admission.lookup import ObjectLookup
from bayplan.apiserver.api_errors import invalid
from bayplan.apiserver.registry.attributes import DELETE, AdmissionAttributes
from bayplan.apiserver.strategies.allocation import allocate
from bayplan.apiserver.strategies.services import keep_addresses


class ServiceAddresses:
    """See the module docstring."""

    name = "ServiceAddresses"

    def __init__(self, lookup: ObjectLookup) -> None:
        self._lookup = lookup

    def admit(self, attributes: AdmissionAttributes) -> None:
        resource, service = attributes.resource, attributes.obj
        if resource.plural != "services" or resource.group or attributes.subresource or service is None:
            return
        if attributes.operation == DELETE:
            return
        if attributes.old is not None:
            keep_addresses(service["spec"], attributes.old["spec"])
        uid = (attributes.old or service)["metadata"].get("uid")
        others = [each for each in self._lookup.list("services") if each["metadata"]["uid"] != uid]
        causes = allocate(service, others)
        if causes:
            raise invalid("", "Service", attributes.name, causes)

    def check(self, attributes: AdmissionAttributes) -> None:
        """Nothing to refuse."""
