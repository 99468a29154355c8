"""Services get their addresses and node ports.

In kube-apiserver this is no admission plugin but a part of the registry; it stands at the same place of the way.
"""

from __future__ import annotations

from bayplan.apiserver.admission.lookup import Lookup
from bayplan.apiserver.attributes import DELETE, Attributes
from bayplan.apiserver.status import invalid
from bayplan.apiserver.strategies.allocation import allocate
from bayplan.apiserver.strategies.services import keep_addresses


class ServiceAddresses:
    """See the module's text."""

    name = "ServiceAddresses"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def admit(self, attributes: Attributes) -> None:
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

    def check(self, attributes: Attributes) -> None:
        """Nothing to refuse."""
