"""Columns of services and their endpoints."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.tables.cells import NONE, UNSET, Cells, Json, age, labels, shortened
from bayplan.apiserver.tables.table_columns import prints

_UNNAMED_PORT: Final = "*"


@prints("", "Service", "Name Type Cluster-IP External-IP Port(s) Age Selector*")
def service(obj: Json, now: float) -> Cells:
    spec = obj["spec"]
    return [
        obj["metadata"]["name"],
        spec.get("type", ""),
        (spec.get("clusterIPs") or [NONE])[0],
        _external_address(obj),
        ",".join(map(_port, spec.get("ports") or ())) or NONE,
        age(obj, now),
        labels(spec.get("selector")),
    ]


def _external_address(obj: Json) -> str:
    spec = obj["spec"]
    given = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(given) or NONE
        case "LoadBalancer":
            return ",".join(_balancers(obj["status"]) + given) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return "<unknown>"


def _balancers(status: Json) -> list[str]:
    ingress = (status.get("loadBalancer") or {}).get("ingress") or ()
    return sorted({each.get("ip") or each.get("hostname") or "" for each in ingress} - {""})


def _port(port: Json) -> str:
    number = f"{port['port']}:{port['nodePort']}" if port.get("nodePort") else str(port["port"])
    return f"{number}/{port.get('protocol', '')}"


@prints("", "Endpoints", "Name Endpoints Age")
def endpoints(obj: Json, now: float) -> Cells:
    found = [place for subset in obj.get("subsets") or () for place in _places(subset)]
    return [obj["metadata"]["name"], shortened(found, NONE if not obj.get("subsets") else ""), age(obj, now)]


def _places(subset: Json) -> list[str]:
    addresses = [each["ip"] for each in subset.get("addresses") or ()]
    ports = subset.get("ports")
    if not ports:
        return addresses
    return [_host_and_port(address, port["port"]) for port in ports for address in addresses]


def _host_and_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


@prints("discovery.k8s.io", "EndpointSlice", "Name AddressType Ports Endpoints Age")
def endpoint_slice(obj: Json, now: float) -> Cells:
    ports = [str(port.get("port", port.get("name", _UNNAMED_PORT))) for port in obj.get("ports") or ()]
    addresses = [address for each in obj.get("endpoints") or () for address in each.get("addresses") or ()]
    shown = [shortened(ports, UNSET), shortened(addresses, UNSET)]
    return [obj["metadata"]["name"], obj.get("addressType", ""), *shown, age(obj, now)]
