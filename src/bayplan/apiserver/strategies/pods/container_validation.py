"""Validation of the containers of a pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.strategies.pods.environment_validation import env_causes, env_from_causes
from bayplan.apiserver.strategies.pods.probe_validation import PROBES, lifecycle_causes, probe_causes
from bayplan.apiserver.strategies.pods.security_validation import container_security_causes
from bayplan.apiserver.validation.field_errors import (
    duplicate,
    each,
    forbidden,
    invalid,
    not_found,
    not_supported,
    one_of,
    required,
    too_many,
)
from bayplan.apiserver.validation.name_validation import label_errors, port_name_errors, port_number_errors
from bayplan.apiserver.validation.quantity_validation import requirement_causes

Container = Mapping[str, Any]
_PROTOCOLS = ("SCTP", "TCP", "UDP")


class PodContext(msgspec.Struct, frozen=True):
    """What container validation needs to know about the pod."""

    #: Volume name → its source.
    volumes: Mapping[str, Mapping[str, Any]]
    claim_names: tuple[str, ...]
    grace: int | None
    os: str | None
    restart_policy: str
    host_users: bool


def surroundings_of(spec: Mapping[str, Any]) -> PodContext:
    return PodContext(
        volumes={volume.get("name", ""): volume for volume in spec.get("volumes", ())},
        claim_names=tuple(claim["name"] for claim in spec.get("resourceClaims", ()) if claim.get("name")),
        grace=spec.get("terminationGracePeriodSeconds"),
        os=spec["os"].get("name", "") if "os" in spec else None,
        restart_policy=spec.get("restartPolicy", ""),
        host_users=spec.get("hostUsers", True),
    )


def container_causes(spec: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    """Errors of all containers of a pod spec."""
    around = surroundings_of(spec)
    containers = spec.get("containers") or []
    names: set[str] = set()
    if not containers:
        yield required(f"{path}.containers")
    for i, container in enumerate(containers):
        field_path = f"{path}.containers[{i}]"
        yield from _common_causes(container, around, field_path)
        yield from _name_repeats(container, names, field_path)
        if "lifecycle" in container:
            yield from lifecycle_causes(container["lifecycle"], around.grace, around.os, f"{field_path}.lifecycle")
        yield from probe_causes(container, around.grace, field_path)
        yield from _restart_causes(container, field_path)
    yield from _host_port_repeats(containers, f"{path}.containers")
    for i, container in enumerate(spec.get("initContainers", ())):
        yield from _init_causes(container, i, names, around, f"{path}.initContainers")


def _init_causes(
    container: Container, i: int, names: set[str], around: PodContext, path: str
) -> Iterator[StatusCause]:
    field_path = f"{path}[{i}]"
    yield from _common_causes(container, around, field_path)
    yield from _restart_causes(container, field_path)
    yield from _name_repeats(container, names, field_path)
    yield from _host_port_repeats([container], path)
    if container.get("restartPolicy") == "Always":
        if "lifecycle" in container:
            yield from lifecycle_causes(container["lifecycle"], around.grace, around.os, f"{field_path}.lifecycle")
        yield from probe_causes(container, around.grace, field_path)
        return
    for key in ("lifecycle", *PROBES):
        if key in container:
            yield forbidden(
                f"{field_path}.{key}", "may not be set for init containers without restartPolicy=Always"
            )
    for j, policy in enumerate(container.get("resizePolicy", ())):
        if policy.get("restartPolicy") == "RestartContainer":
            text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield invalid(f"{field_path}.resizePolicy[{j}].restartPolicy", "RestartContainer", text)


def _name_repeats(container: Container, names: set[str], path: str) -> Iterator[StatusCause]:
    name = container.get("name", "")
    if name in names:
        yield duplicate(f"{path}.name", name)
    names.add(name)


def _common_causes(container: Container, around: PodContext, path: str) -> Iterator[StatusCause]:
    name = container.get("name", "")
    if name:
        yield from each(f"{path}.name", name, label_errors(name))
    else:
        yield required(f"{path}.name")
    if not container.get("image"):
        yield required(f"{path}.image")
    policies = ("File", "FallbackToLogsOnError")
    yield from one_of(f"{path}.terminationMessagePolicy", container.get("terminationMessagePolicy"), policies)
    if "ports" in container:
        yield from _port_causes(container["ports"], f"{path}.ports")
    if "env" in container:
        yield from env_causes(container["env"], f"{path}.env")
    if "envFrom" in container:
        yield from env_from_causes(container["envFrom"], f"{path}.envFrom")
    yield from _mount_causes(container, around, path)
    pull_policies = ("Always", "IfNotPresent", "Never")
    yield from one_of(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), pull_policies)
    if container.get("resources"):
        yield from requirement_causes(container["resources"], f"{path}.resources", around.claim_names)
    if "resizePolicy" in container:
        yield from _resize_causes(container["resizePolicy"], around.restart_policy, f"{path}.resizePolicy")
    if "securityContext" in container:
        yield from container_security_causes(
            container["securityContext"], f"{path}.securityContext", host_users=around.host_users
        )


def _port_causes(ports: Iterable[Mapping[str, Any]], path: str) -> Iterator[StatusCause]:
    names: set[str] = set()
    for i, port in enumerate(ports):
        field_path, name = f"{path}[{i}]", port.get("name", "")
        complaints = port_name_errors(name) if name else []
        yield from each(f"{field_path}.name", name, complaints)
        if name and not complaints:
            if name in names:
                yield duplicate(f"{field_path}.name", name)
            names.add(name)
        if not port.get("containerPort"):
            yield required(f"{field_path}.containerPort")
        else:
            number = port["containerPort"]
            yield from each(f"{field_path}.containerPort", number, port_number_errors(number))
        if port.get("hostPort"):
            yield from each(f"{field_path}.hostPort", port["hostPort"], port_number_errors(port["hostPort"]))
        yield from one_of(f"{field_path}.protocol", port.get("protocol"), _PROTOCOLS)


def _host_port_repeats(containers: Sequence[Container], path: str) -> Iterator[StatusCause]:
    seen: set[str] = set()
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports", ())):
            if port.get("hostPort"):
                key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if key in seen:
                    yield duplicate(f"{path}[{i}].ports[{j}].hostPort", key)
                seen.add(key)


def _mount_causes(container: Container, around: PodContext, path: str) -> Iterator[StatusCause]:
    mounts, devices = container.get("volumeMounts", ()), container.get("volumeDevices", ())
    if mounts:
        yield from _volume_mount_causes(container, mounts, devices, around, f"{path}.volumeMounts")
    if devices:
        yield from _volume_device_causes(devices, mounts, around, f"{path}.volumeDevices")


def _volume_mount_causes(
    container: Container,
    mounts: Iterable[Mapping[str, Any]],
    devices: Iterable[Mapping[str, Any]],
    around: PodContext,
    path: str,
) -> Iterator[StatusCause]:
    paths: set[str] = set()
    device_names = {device.get("name", "") for device in devices}
    device_paths = {device.get("devicePath", "") for device in devices}
    for i, mount in enumerate(mounts):
        field_path, name, where = f"{path}[{i}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{field_path}.name")
        if name not in around.volumes:
            yield not_found(f"{field_path}.name", name)
        if not where:
            yield required(f"{field_path}.mountPath")
        if where in paths:
            yield invalid(f"{field_path}.mountPath", where, "must be unique")
        paths.add(where)
        if name in device_names:
            yield invalid(f"{field_path}.name", name, "must not already exist in volumeDevices")
        if where in device_paths:
            yield invalid(f"{field_path}.mountPath", where, "must not already exist as a path in volumeDevices")
        yield from _sub_path_causes(mount, field_path, path)
        yield from _propagation_causes(mount, container, path)


def _sub_path_causes(mount: Mapping[str, Any], field_path: str, path: str) -> Iterator[StatusCause]:
    for key in ("subPath", "subPathExpr"):
        if mount.get(key):
            yield from descending_path_causes(mount[key], f"{path}.{key}")
    if mount.get("subPath") and mount.get("subPathExpr"):
        text = "subPathExpr and subPath are mutually exclusive"
        yield invalid(f"{field_path}.subPathExpr", mount["subPathExpr"], text)


def _propagation_causes(mount: Mapping[str, Any], container: Container, path: str) -> Iterator[StatusCause]:
    mode, field = mount.get("mountPropagation"), f"{path}.mountPropagation"
    modes = ("Bidirectional", "HostToContainer", "None")
    if mode is not None and mode not in modes:
        yield not_supported(field, mode, modes)
    if mode == "Bidirectional" and not container.get("securityContext", {}).get("privileged"):
        yield forbidden(field, "Bidirectional mount propagation is available only to privileged containers")
    read_only, field = mount.get("recursiveReadOnly"), f"{path}.recursiveReadOnly"
    if read_only is None or read_only == "Disabled":
        return
    if read_only not in ("Enabled", "IfPossible"):
        yield not_supported(field, read_only, ("Disabled", "Enabled", "IfPossible"))
        return
    if not mount.get("readOnly"):
        yield forbidden(field, "may only be specified when readOnly is true")
    if mode not in (None, "None"):
        yield forbidden(field, "may only be specified when mountPropagation is None or not specified")


def _volume_device_causes(
    devices: Iterable[Mapping[str, Any]], mounts: Iterable[Mapping[str, Any]], around: PodContext, path: str
) -> Iterator[StatusCause]:
    names: set[str] = set()
    paths: set[str] = set()
    mounted = {mount.get("name", "") for mount in mounts}
    mount_paths = {mount.get("mountPath", "") for mount in mounts}
    for i, device in enumerate(devices):
        field_path, name, where = f"{path}[{i}]", device.get("name", ""), device.get("devicePath", "")
        if not name:
            yield required(f"{field_path}.name")
        if name in names:
            yield invalid(f"{field_path}.name", name, "must be unique")
        source = around.volumes.get(name)
        if source is None:
            yield not_found(f"{field_path}.name", name)
        elif "persistentVolumeClaim" not in source and "ephemeral" not in source:
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid(f"{field_path}.name", name, text)
        if not where:
            yield required(f"{field_path}.devicePath")
        if where in paths:
            yield invalid(f"{field_path}.devicePath", where, "must be unique")
        if ".." in where.split("/"):
            yield invalid(f"{field_path}.devicePath", where, "can not contain backsteps ('..')")
        else:
            paths.add(where)
        if name in mounted:
            yield invalid(f"{field_path}.name", name, "must not already exist in volumeMounts")
        if where in mount_paths:
            yield invalid(f"{field_path}.devicePath", where, "must not already exist as a path in volumeMounts")
        names.add(name)


def descending_path_causes(path: str, field: str) -> Iterator[StatusCause]:
    """A relative path without `..`."""
    if path.startswith("/"):
        yield invalid(field, path, "must be a relative path")
    if ".." in path.split("/"):
        yield invalid(field, path, "must not contain '..'")


def _resize_causes(policies: Iterable[Mapping[str, Any]], restart_policy: str, path: str) -> Iterator[StatusCause]:
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            yield duplicate(f"{path}[{i}]", resource)
        seen.add(resource)
        yield from one_of(path, resource, ("cpu", "memory"))
        yield from one_of(path, restart, ("NotRequired", "RestartContainer"))
        if restart_policy == "Never" and restart != "NotRequired":
            yield invalid(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")


def _restart_causes(container: Container, path: str) -> Iterator[StatusCause]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules", ())
    policies = ("Always", "Never", "OnFailure")
    if policy is None:
        if rules:
            text = "must specify restartPolicy when restart rules are used"
            yield required(f"{path}.restartPolicy", text)
    elif policy not in policies:
        yield not_supported(f"{path}.restartPolicy", policy, policies)
    if len(rules) > 20:
        yield too_many(f"{path}.restartPolicyRules", len(rules), 20)
    for i, rule in enumerate(rules):
        yield from _restart_rule_causes(rule, f"{path}.restartPolicyRules[{i}]")


def _restart_rule_causes(rule: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    actions = ("Restart", "RestartAllContainers")
    if rule.get("action") not in actions:
        yield not_supported(f"{path}.action", rule.get("action", ""), actions)
    if "exitCodes" not in rule:
        yield required(f"{path}.exitCodes", "must be specified")
        return
    codes = rule["exitCodes"]
    if codes.get("operator") not in ("In", "NotIn"):
        yield not_supported(f"{path}.exitCodes.operator", codes.get("operator", ""), ("In", "NotIn"))
    if len(codes.get("values", ())) > 255:
        yield too_many(f"{path}.exitCodes.values", len(codes["values"]), 255)
