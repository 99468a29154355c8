"""Addresses and node ports that services get, none of them twice."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator

from bayplan.apiserver.causes import invalid
from bayplan.apiserver.status import Cause
from bayplan.apiserver.strategy import Object

#: What kube-apiserver has unless --service-cluster-ip-range says otherwise.
SERVICE_CIDR = ipaddress.IPv4Network("10.0.0.0/24")
NODE_PORTS = range(30000, 32768)


def allocate(service: Object, others: Iterable[Object]) -> list[Cause]:
    """Give the service what it needs and does not have; what it asks for must be free."""
    spec = service["spec"]
    specs = [other.get("spec", {}) for other in others]
    named = bool(service["metadata"].get("name"))
    found = list(_allocate_address(spec, specs, named=named))
    if spec.get("type") in ("NodePort", "LoadBalancer") and spec.get("allocateLoadBalancerNodePorts", True):
        found += _allocate_ports(spec, specs)
    return found


def _allocate_address(spec: Object, others: list[Object], *, named: bool) -> Iterator[Cause]:
    if spec.get("type") == "ExternalName":
        return
    taken = {other.get("clusterIP") for other in others}
    asked = spec.get("clusterIP", "")
    if not asked and not named:
        yield invalid("spec.clusterIPs", [""], "failed to allocate IP: a service needs a name")
        return
    if not asked:
        asked = next(address for address in _free_first() if address not in taken)
    elif asked != "None":
        yield from _asked_causes(asked, taken, spec)
    spec["clusterIP"] = asked
    spec["clusterIPs"] = [asked]
    yield from _set_families(spec)


def _set_families(spec: Object) -> Iterator[Cause]:
    """One family is all there is; but who resolves a headless service without a selector may have both."""
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
    """From the upper part on: the lower one is for addresses that are asked for."""
    addresses = [str(address) for address in SERVICE_CIDR.hosts()]
    middle = min(max(16, len(addresses) // 16), 256)
    yield from addresses[middle:]
    yield from addresses[1:middle]


def _asked_causes(asked: str, taken: set[str | None], spec: Object) -> Iterator[Cause]:
    field = "spec.clusterIPs"
    try:
        inside = ipaddress.ip_address(asked) in SERVICE_CIDR
    except ValueError:
        text = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        yield invalid(f"{field}[0]", asked, text)
        return
    if not inside:
        text = f"failed to allocate IP {asked}: the provided network does not match the current range"
        yield invalid(field, spec.get("clusterIPs"), text)
    elif asked in taken:
        text = f"failed to allocate IP {asked}: provided IP is already allocated"
        yield invalid(field, spec.get("clusterIPs"), text)


def _allocate_ports(spec: Object, others: list[Object]) -> Iterator[Cause]:
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
