"""Endpoints and EndpointSlices."""

from __future__ import annotations

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.strategies.pods.pod_spec_validation import ip_causes
from bayplan.apiserver.validation.field_errors import immutable, not_supported, one_of


class EndpointsStrategy(RestStrategy):
    """core/v1 Endpoints."""

    allows_create_on_update = True

    def default(self, obj: Object) -> None:
        for subset in obj.get("subsets", ()):
            for port in subset.get("ports", ()):
                port.setdefault("protocol", "TCP")

    def validate(self, obj: Object) -> list[StatusCause]:
        found: list[StatusCause] = []
        for i, subset in enumerate(obj.get("subsets", ())):
            for key in ("addresses", "notReadyAddresses"):
                for j, address in enumerate(subset.get(key, ())):
                    found += ip_causes(address.get("ip", ""), f"subsets[{i}].{key}[{j}].ip")
        return found

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        return []


class EndpointSliceStrategy(RestStrategy):
    """discovery.k8s.io/v1 EndpointSlice."""

    counts_generations = True

    def default(self, obj: Object) -> None:
        for port in obj.get("ports") or ():
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")

    def validate(self, obj: Object) -> list[StatusCause]:
        kinds = ("FQDN", "IPv4", "IPv6")
        found = one_of("addressType", obj.get("addressType"), kinds)
        for i, port in enumerate(obj.get("ports") or ()):
            if port["protocol"] not in ("SCTP", "TCP", "UDP"):
                found.append(not_supported(f"ports[{i}].protocol", port["protocol"], ("SCTP", "TCP", "UDP")))
        return found

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        return [*self.validate(new), *immutable("addressType", new.get("addressType"), old.get("addressType"))]
