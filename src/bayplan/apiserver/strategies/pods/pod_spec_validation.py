"""Validation of the spec of a pod or of a pod template."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.strategies.pods.container_validation import container_causes
from bayplan.apiserver.strategies.pods.scheduling_validation import (
    affinity_causes,
    gate_causes,
    spread_causes,
    toleration_causes,
)
from bayplan.apiserver.strategies.pods.security_validation import pod_security_causes
from bayplan.apiserver.strategies.pods.volume_validation import volume_causes
from bayplan.apiserver.validation.field_errors import (
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    one_of,
    required,
    too_long,
)
from bayplan.apiserver.validation.metadata_validation import common_causes, label_causes
from bayplan.apiserver.validation.name_validation import label_errors, qualified_name_errors, subdomain_errors
from bayplan.apiserver.validation.quantity_validation import (
    amount_causes,
    requirement_causes,
    resource_name_causes,
)
from bayplan.apiserver.validation.selector_validation import search_path_errors
from bayplan.model.container_sums import sum_over_containers
from bayplan.model.quantity import Quantity

_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MAX_INT32 = 2**31 - 1
#: Fields of a pod spec that name another object, and the check of that name.
_NAMES = {
    "serviceAccountName": subdomain_errors,
    "nodeName": subdomain_errors,
    "hostname": label_errors,
    "subdomain": label_errors,
    "priorityClassName": subdomain_errors,
    "runtimeClassName": subdomain_errors,
}


def template_causes(template: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    """Errors of a pod template: labels, annotations and spec."""
    yield from common_causes(template.get("metadata", {}), path)
    yield from pod_spec_causes(template.get("spec", {}), f"{path}.spec")
    if template.get("spec", {}).get("ephemeralContainers"):
        yield forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def pod_spec_causes(
    spec: dict[str, Any], path: str, *, pod_name: str = "", of_pod: bool = False, any_value: bool = False
) -> Iterator[StatusCause]:
    """Errors of the spec of a pod (`of_pod`) or template; `any_value` skips required node affinity values."""
    if "volumes" in spec:
        found, good = volume_causes(spec["volumes"], pod_name, f"{path}.volumes")
        yield from found
        spec = {**spec, "volumes": list(good.values())}
    if "resourceClaims" in spec:
        yield from _claim_causes(spec["resourceClaims"], f"{path}.resourceClaims")
    yield from container_causes(spec, path)
    if spec.get("resources"):
        yield from _pod_resource_causes(spec, path)
    if spec.get("hostNetwork"):
        yield from _host_port_causes(spec, path, of_pod)
    restart_policies = ("Always", "OnFailure", "Never")
    yield from one_of(f"{path}.restartPolicy", spec.get("restartPolicy"), restart_policies)
    yield from one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    yield from label_causes(spec.get("nodeSelector", {}), f"{path}.nodeSelector")
    yield from pod_security_causes(spec, path)
    yield from _scheduling_causes(spec, path, any_value)
    yield from _dns_causes(spec, f"{path}.dnsConfig")
    for key, errors in _NAMES.items():
        if spec.get(key):
            yield from each(f"{path}.{key}", spec[key], errors(spec[key]))
    yield from _rare_causes(spec, path)


def _scheduling_causes(spec: Mapping[str, Any], path: str, any_value: bool) -> Iterator[StatusCause]:
    if "affinity" in spec:
        yield from affinity_causes(spec["affinity"], f"{path}.affinity", any_value=any_value)
    for i, gate in enumerate(spec.get("readinessGates", ())):
        kind = gate.get("conditionType", "")
        yield from each(f"{path}.readinessGates[{i}].conditionType", kind, qualified_name_errors(kind))
    if "schedulingGates" in spec:
        yield from gate_causes(spec["schedulingGates"], f"{path}.schedulingGates")
    if "topologySpreadConstraints" in spec:
        yield from spread_causes(spec["topologySpreadConstraints"], f"{path}.topologySpreadConstraints")
    if "tolerations" in spec:
        yield from toleration_causes(spec["tolerations"], f"{path}.tolerations")
    if "preemptionPolicy" in spec:
        yield from one_of(f"{path}.preemptionPolicy", spec["preemptionPolicy"], ("PreemptLowerPriority", "Never"))


def _rare_causes(spec: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if "activeDeadlineSeconds" in spec and not 1 <= spec["activeDeadlineSeconds"] <= _MAX_INT32:
        text = f"must be between 1 and {_MAX_INT32}, inclusive"
        yield invalid(f"{path}.activeDeadlineSeconds", spec["activeDeadlineSeconds"], text)
    for i, alias in enumerate(spec.get("hostAliases", ())):
        yield from ip_causes(alias.get("ip", ""), f"{path}.hostAliases[{i}].ip")
        for j, name in enumerate(alias.get("hostnames", ())):
            yield from each(f"{path}.hostAliases[{i}].hostnames[{j}]", name, subdomain_errors(name))
    for name, text in spec.get("overhead", {}).items():
        yield from resource_name_causes(name, f"{path}.overhead[{name}]")
        yield from amount_causes(name, text, f"{path}.overhead[{name}]")
    if "hostnameOverride" in spec:
        yield from _hostname_override_causes(spec, f"{path}.hostnameOverride")
    if "os" in spec:
        yield from _os_causes(spec["os"], f"{path}.os")


def _os_causes(system: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if not system.get("name"):
        yield required(f"{path}.name", "cannot be empty")
    elif system["name"] not in ("linux", "windows"):
        yield not_supported(path, system, ("linux", "windows"))


def _hostname_override_causes(spec: Mapping[str, Any], field: str) -> Iterator[StatusCause]:
    for key in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(key):
            yield forbidden(field, f"may not be specified when {key} is true")
    if len(spec["hostnameOverride"]) > 64:
        yield too_long(field, 64)
    yield from each(field, spec["hostnameOverride"], subdomain_errors(spec["hostnameOverride"]))


def ip_causes(text: str, field: str) -> Iterator[StatusCause]:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        yield invalid(field, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


def _claim_causes(claims: list[Mapping[str, Any]], path: str) -> Iterator[StatusCause]:
    names: set[str] = set()
    for i, claim in enumerate(claims):
        field_path, name = f"{path}[{i}]", claim.get("name", "")
        if not name:
            yield required(f"{field_path}.name")
        elif name in names:
            yield duplicate(f"{field_path}.name", name)
        else:
            yield from each(f"{field_path}.name", name, label_errors(name))
            names.add(name)
        kinds = [key for key in ("resourceClaimName", "resourceClaimTemplateName") if key in claim]
        if len(kinds) == 2:
            text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            yield invalid(field_path, claim, text)
        if not kinds:
            yield invalid(
                field_path, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            )
        for key in kinds:
            yield from each(f"{field_path}.{key}", claim[key], subdomain_errors(claim[key]))


def _pod_resource_causes(spec: dict[str, Any], path: str) -> Iterator[StatusCause]:
    resources, field_path = spec["resources"], f"{path}.resources"
    if resources.get("claims"):
        yield forbidden(f"{field_path}.claims", "claims may not be set for Resources at pod-level")
    yield from requirement_causes(resources, field_path, of_pod=True)
    for key, about in (("requests", "requests"), ("limits", "limits")):
        for name, total in sum_over_containers(spec, key).items():
            given = resources.get(key, {}).get(name)
            if given is None or (key == "limits" and not name.startswith("hugepages-")):
                continue
            if Quantity.parse(total) > Quantity.parse(given):
                text = f"must be greater than or equal to aggregate container {about} of {total}"
                yield invalid(f"{field_path}.{key}[{name}]", given, text)
    for i, container in enumerate(spec.get("containers") or []):
        for name, limit in container.get("resources", {}).get("limits", {}).items():
            given = resources.get("limits", {}).get(name)
            if given is not None and Quantity.parse(limit) > Quantity.parse(given):
                text = f"must be less than or equal to pod limits of {given}"
                yield invalid(f"{field_path}.containers[{i}][{name}].limits", limit, text)


def _host_port_causes(spec: Mapping[str, Any], path: str, of_pod: bool) -> Iterator[StatusCause]:
    for i, container in enumerate(spec.get("containers") or []):
        for j, port in enumerate(container.get("ports", ())):
            host_port = port.get("hostPort", 0)
            if (of_pod or host_port) and host_port != port.get("containerPort", 0):
                text = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(f"{path}.containers[{i}].ports[{j}].hostPort", host_port, text)


def _dns_causes(spec: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{path}.nameservers", text)
            return
    if config is None:
        return
    servers, searches = config.get("nameservers", []), config.get("searches", [])
    if len(servers) > 3:
        yield invalid(f"{path}.nameservers", servers, "must not have more than 3 nameservers")
    for i, server in enumerate(servers):
        yield from ip_causes(server, f"{path}.nameservers[{i}]")
    if len(searches) > 32:
        yield invalid(f"{path}.searches", searches, "must not have more than 32 search paths")
    if len(" ".join(searches)) > 2048:
        text = "must not have more than 2048 characters (including spaces) in the search list"
        yield invalid(f"{path}.searches", searches, text)
    for i, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            yield from each(f"{path}.searches[{i}]", name, search_path_errors(name))
    for i, option in enumerate(config.get("options", ())):
        if not option.get("name"):
            yield required(f"{path}.options[{i}]", "must not be empty")
