"""Services: types, ports and traffic policies; `allocation` allocates addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.strategies.pods.probe_validation import port_causes
from bayplan.apiserver.validation.field_errors import (
    duplicate,
    duplicates,
    each,
    forbidden,
    immutable,
    invalid,
    not_supported,
    one_of,
    required,
)
from bayplan.apiserver.validation.metadata_validation import label_causes
from bayplan.apiserver.validation.name_validation import (
    label_1035_errors,
    label_errors,
    port_number_errors,
    subdomain_errors,
)

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_WITH_ADDRESS = ("ClusterIP", "NodePort", "LoadBalancer")
_EXTERNAL = ("NodePort", "LoadBalancer")


class ServiceStrategy(RestStrategy):
    """core/v1 Service."""

    has_status = True
    returns_deleted = True
    allows_create_on_update = True
    selectable_fields = ("spec.clusterIP", "spec.type")

    def name_errors(self, name: str, *, prefix: bool) -> list[str]:
        return label_1035_errors(name, prefix=prefix)

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("sessionAffinity", "None")
        if spec["sessionAffinity"] == "None":
            spec.pop("sessionAffinityConfig", None)
        elif spec["sessionAffinity"] == "ClientIP":
            config = spec.setdefault("sessionAffinityConfig", {})
            config.setdefault("clientIP", {}).setdefault("timeoutSeconds", 10800)
        spec.setdefault("type", "ClusterIP")
        for port in spec.get("ports", ()):
            port.setdefault("protocol", "TCP")
            if port.get("targetPort") in (None, 0, ""):
                port["targetPort"] = port.get("port", 0)
        external = spec["type"] in _EXTERNAL or (spec["type"] == "ClusterIP" and spec.get("externalIPs"))
        if external:
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if spec["type"] in _WITH_ADDRESS:
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if spec["type"] == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {"loadBalancer": {}}
        _list_address(obj["spec"])

    def prepare_update(self, new: Object, old: Object) -> None:
        new["status"] = old.get("status", {"loadBalancer": {}})
        keep_addresses(new["spec"], old["spec"])
        _list_address(new["spec"])

    def validate(self, obj: Object) -> list[StatusCause]:
        return list(_service_causes(obj["spec"]))

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        spec, before = new["spec"], old["spec"]
        found = self.validate(new)
        both = spec["type"] in _WITH_ADDRESS and before.get("type") in _WITH_ADDRESS
        if both and before.get("clusterIPs"):
            address = spec.get("clusterIPs", [None])[0]
            found += immutable("spec.clusterIPs[0]", address, before["clusterIPs"][0])
        return found

    def validate_status_update(self, new: Object, old: Object) -> list[StatusCause]:
        ingress = new.get("status", {}).get("loadBalancer", {}).get("ingress", [])
        if ingress and new["spec"].get("type") != "LoadBalancer":
            text = "may only be used when `spec.type` is 'LoadBalancer'"
            return [forbidden("status.loadBalancer.ingress", text)]
        return []

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        return list(_warnings(obj["spec"]))

    def fields(self, obj: Object) -> Mapping[str, str]:
        spec = obj.get("spec", {})
        return {"spec.clusterIP": spec.get("clusterIP", ""), "spec.type": spec.get("type", "")}


def _list_address(spec: Object) -> None:
    """The first of the addresses has a field of its own."""
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]


def _warnings(spec: Object) -> Iterator[str]:
    headless, kind = spec.get("clusterIP") == "None", spec.get("type")
    if headless:
        for key in ("loadBalancerIP", "externalIPs"):
            if spec.get(key):
                yield f"spec.{key} is ignored for headless services"
        if spec.get("sessionAffinity") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    elif spec.get("externalIPs") and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if kind == "ExternalName" and spec.get("externalIPs"):
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if kind != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


#: Allocated by the server: an update that omits them keeps them.
_GIVEN = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def keep_addresses(spec: Object, before: Object) -> None:
    if before.get("type") == "ExternalName" or spec.get("type") == "ExternalName":
        if spec.get("type") == "ExternalName":
            for key in _GIVEN:
                spec.pop(key, None)
        return
    if "clusterIP" in before:
        spec.setdefault("clusterIP", before["clusterIP"])
    if "clusterIPs" in before and spec.get("clusterIP") == before.get("clusterIP"):
        spec.setdefault("clusterIPs", before["clusterIPs"])
    for key in ("ipFamilies", "ipFamilyPolicy"):
        if key in before:
            spec.setdefault(key, before[key])
    known = {(port.get("protocol"), port.get("port")): port for port in before.get("ports", ())}
    if spec.get("type") in _EXTERNAL and before.get("type") in _EXTERNAL:
        for port in spec.get("ports", ()):
            number = known.get((port.get("protocol"), port.get("port")), {}).get("nodePort")
            if number and not port.get("nodePort"):
                port["nodePort"] = number


def _service_causes(spec: Object) -> Iterator[StatusCause]:
    kind = spec.get("type", "")
    headless = spec.get("clusterIP") == "None"
    if not spec.get("ports") and not headless and kind != "ExternalName":
        yield required("spec.ports")
    if kind == "LoadBalancer" and headless:
        yield invalid("spec.clusterIPs[0]", "None", "may not be set to 'None' for LoadBalancer services")
    elif kind == "NodePort" and headless:
        yield invalid("spec.clusterIPs[0]", "None", "may not be set to 'None' for NodePort services")
    if kind == "ExternalName":
        yield from _external_name_causes(spec)
    yield from _port_causes(spec, kind)
    yield from duplicates(spec.get("ipFamilies", ()), lambda i: f"spec.ipFamilies[{i}]")
    yield from label_causes(spec.get("selector", {}), "spec.selector")
    affinity = spec.get("sessionAffinity")
    yield from one_of("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    if affinity == "ClientIP":
        timeout = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
        if not 0 < timeout <= 86400:
            field = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
            yield invalid(field, timeout, "must be greater than 0 and less than 86400")
    yield from one_of("spec.type", kind, _TYPES)
    yield from _traffic_causes(spec, kind)


def _external_name_causes(spec: Object) -> Iterator[StatusCause]:
    if spec.get("clusterIPs"):
        yield forbidden("spec.clusterIPs", "may not be set for ExternalName services")
    name = spec.get("externalName", "").removesuffix(".")
    if name:
        yield from each("spec.externalName", name, subdomain_errors(name))
    else:
        yield required("spec.externalName")


def _port_causes(spec: Object, kind: str) -> Iterator[StatusCause]:
    ports = spec.get("ports", [])
    names: set[str] = set()
    numbers: set[tuple[Any, Any]] = set()
    for i, port in enumerate(ports):
        path = f"spec.ports[{i}]"
        yield from _one_port_causes(port, path, names, needs_name=len(ports) > 1)
        key = (port.get("protocol"), port.get("port"))
        if key in numbers:
            yield duplicate(path, {"protocol": key[0], "port": key[1]})
        numbers.add(key)
        if port.get("nodePort") and kind == "ClusterIP":
            yield forbidden(f"{path}.nodePort", f"may not be used when `type` is '{kind}'")


def _one_port_causes(port: Object, path: str, names: set[str], *, needs_name: bool) -> Iterator[StatusCause]:
    name = port.get("name", "")
    if not name:
        if needs_name:
            yield required(f"{path}.name")
    else:
        yield from each(f"{path}.name", name, label_errors(name))
        if name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
    yield from each(f"{path}.port", port.get("port", 0), port_number_errors(port.get("port", 0)))
    yield from one_of(f"{path}.protocol", port.get("protocol"), ("SCTP", "TCP", "UDP"))
    yield from port_causes(port["targetPort"], f"{path}.targetPort")


def _traffic_causes(spec: Object, kind: str) -> Iterator[StatusCause]:
    policy = spec.get("externalTrafficPolicy")
    external = kind in _EXTERNAL or (kind == "ClusterIP" and spec.get("externalIPs"))
    if policy and not external:
        text = "may only be set for externally-accessible services"
        yield invalid("spec.externalTrafficPolicy", policy, text)
    elif external and policy not in ("Cluster", "Local"):
        yield not_supported("spec.externalTrafficPolicy", policy, ("Cluster", "Local"))
    internal = spec.get("internalTrafficPolicy")
    if internal is not None and internal not in ("Cluster", "Local"):
        yield not_supported("spec.internalTrafficPolicy", internal, ("Cluster", "Local"))
    if kind != "LoadBalancer":
        for key in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if key in spec:
                yield forbidden(f"spec.{key}", "may only be used when `type` is 'LoadBalancer'")
