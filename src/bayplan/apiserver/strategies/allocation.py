"""Allocates unique addresses and node ports to services."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.validation.field_errors import invalid

#: kube-apiserver's default for --service-cluster-ip-range.
SERVICE_CIDR = ipaddress.IPv4Network("10.0.0.0/24")
NODE_PORTS = range(30000, 32768)


def allocate(service: Object, others: Iterable[Object]) -> list[StatusCause]:
    """Allocate what the service needs and lacks; what it requests must be free."""
    spec = service["spec"]
    specs = [other.get("spec", {}) for other in others]
    named = bool(service["metadata"].get("name"))
    found = list(_allocate_address(spec, specs, named=named))
    if spec.get("type") in ("NodePort", "LoadBalancer") and spec.get("allocateLoadBalancerNodePorts", True):
        found += _allocate_ports(spec, specs)
    return found


def _allocate_address(spec: Object, others: list[Object], *, named: bool) -> Iterator[StatusCause]:
    if spec.get("type") == "ExternalName":
        return
    taken = {other.get("clusterIP") for other in others}
    requested = spec.get("clusterIP", "")
    if not requested and not named:
        yield invalid("spec.clusterIPs", [""], "failed to allocate IP: a service needs a name")
        return
    if not requested:
        requested = next(address for address in _free_first() if address not in taken)
    elif requested != "None":
        yield from _requested_address_causes(requested, taken, spec)
    spec["clusterIP"] = requested
    spec["clusterIPs"] = [requested]
    yield from _set_families(spec)


def _set_families(spec: Object) -> Iterator[StatusCause]:
    """Only one IP family is supported; a headless service without a selector may have both."""
    if spec["clusterIP"] == "None" and not spec.get("selector"):
        spec.setdefault("ipFamilies", ["IPv4", "IPv6"])
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        return
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    if spec["ipFamilyPolicy"] == "RequireDualStack":
        text = "this cluster is not configured for dual-stack services"
        yield invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], text)
    for i, family in enumerate(spec["ipFamilies"]):
        if family != "IPv4":
            yield invalid(f"spec.ipFamilies[{i}]", family, "not configured on this cluster")


def _free_first() -> Iterator[str]:
    """From the upper part of the range: the lower one is for addresses that are requested."""
    addresses = [str(address) for address in SERVICE_CIDR.hosts()]
    middle = min(max(16, len(addresses) // 16), 256)
    yield from addresses[middle:]
    yield from addresses[1:middle]


def _requested_address_causes(requested: str, taken: set[str | None], spec: Object) -> Iterator[StatusCause]:
    field = "spec.clusterIPs"
    try:
        inside = ipaddress.ip_address(requested) in SERVICE_CIDR
    except ValueError:
        text = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        yield invalid(f"{field}[0]", requested, text)
        return
    if not inside:
        text = f"failed to allocate IP {requested}: the provided network does not match the current range"
        yield invalid(field, spec.get("clusterIPs"), text)
    elif requested in taken:
        text = f"failed to allocate IP {requested}: provided IP is already allocated"
        yield invalid(field, spec.get("clusterIPs"), text)


def _allocate_ports(spec: Object, others: list[Object]) -> Iterator[StatusCause]:
    taken = {port["nodePort"] for other in others for port in other.get("ports", ()) if port.get("nodePort")}
    for i, port in enumerate(spec.get("ports", ())):
        number = port.get("nodePort")
        if not number:
            number = next(candidate for candidate in NODE_PORTS if candidate not in taken)
        elif number not in NODE_PORTS:
            text = "provided port is not in the valid range. The range of valid ports is 30000-32767"
            yield invalid(f"spec.ports[{i}].nodePort", number, text)
        elif number in taken:
            yield invalid(f"spec.ports[{i}].nodePort", number, "provided port is already allocated")
        taken.add(number)
        port["nodePort"] = number
