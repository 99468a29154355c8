"""Validation of security contexts of pods and containers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.validation.field_errors import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)

_MAX_ID = 2**31 - 1
_SYSCTL_PART = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = re.compile(rf"({_SYSCTL_PART}[./])*{_SYSCTL_PART}")
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
#: Sysctls of a namespace that such a pod shares with its host.
_HOST_SYSCTLS = {
    "hostNetwork": ("net.",),
    "hostIPC": ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue."),
}


def container_security_causes(context: Mapping[str, Any], path: str, *, host_users: bool) -> Iterator[StatusCause]:
    yield from _id_causes(context, path)
    if "procMount" in context:
        mount = context["procMount"]
        if mount not in ("Default", "Unmasked"):
            yield not_supported(f"{path}.procMount", mount, ("Default", "Unmasked"))
        if host_users and mount == "Unmasked":
            yield invalid(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`")
    yield from _profile_causes(context, path)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield invalid(path, context, text)
        if "CAP_SYS_ADMIN" in context.get("capabilities", {}).get("add", ()):
            text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield invalid(path, context, text)


def pod_security_causes(spec: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    """Errors of the security context; `path` is that of the pod's spec."""
    context, field_path = spec.get("securityContext", {}), f"{path}.securityContext"
    yield from _id_causes(context, field_path)
    for i, group in enumerate(context.get("supplementalGroups", ())):
        yield from _range_causes(f"{field_path}.supplementalGroups[{i}]", group)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{field_path}.shareProcessNamespace", True, text)
    yield from _sysctl_causes(spec, context.get("sysctls", ()), f"{field_path}.sysctls")
    for key, values in (
        ("fsGroupChangePolicy", ("Always", "OnRootMismatch")),
        ("supplementalGroupsPolicy", ("Merge", "Strict")),
        ("seLinuxChangePolicy", ("MountOption", "Recursive")),
    ):
        if key in context and context[key] not in values:
            yield not_supported(f"{field_path}.{key}", context[key], values)
    yield from _profile_causes(context, field_path)
    if not spec.get("hostUsers", True):
        for key in ("hostPID", "hostIPC"):
            if spec.get(key):
                yield forbidden(f"{path}.{key[0].upper()}{key[1:]}", "when `hostUsers` is false")
        if spec.get("hostNetwork"):
            yield forbidden(f"{path}.hostNetwork", "when `hostUsers` is false")


def _id_causes(context: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    for key in ("fsGroup", "runAsUser", "runAsGroup"):
        if key in context:
            yield from _range_causes(f"{path}.{key}", context[key])


def _range_causes(field: str, number: int) -> Iterator[StatusCause]:
    if not 0 <= number <= _MAX_ID:
        yield invalid(field, number, f"must be between 0 and {_MAX_ID}, inclusive")


def _sysctl_causes(spec: Mapping[str, Any], sysctls: list[Mapping[str, str]], path: str) -> Iterator[StatusCause]:
    seen: set[str] = set()
    for i, sysctl in enumerate(sysctls):
        name, field = sysctl.get("name", ""), f"{path}[{i}].name"
        if not name:
            yield required(field)
        elif len(name) > 253 or not _SYSCTL.fullmatch(name):
            yield invalid(field, name, f"must have at most 253 characters and match regex ^{_SYSCTL.pattern}$")
        elif name in seen:
            yield duplicate(field, name)
        seen.add(name)
        for shared, prefixes in _HOST_SYSCTLS.items():
            if spec.get(shared) and name.replace("/", ".").startswith(prefixes):
                text = f"may not be specified when '{shared}' is true"
                yield invalid(field, name, text)


def _profile_causes(context: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if "seccompProfile" in context:
        yield from _seccomp_causes(context["seccompProfile"], f"{path}.seccompProfile")
    if "appArmorProfile" in context:
        yield from _app_armor_causes(context["appArmorProfile"], f"{path}.appArmorProfile")


def _seccomp_causes(profile: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        yield required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in _PROFILES:
        yield not_supported(f"{path}.type", kind, _PROFILES)
    field = f"{path}.localhostProfile"
    if kind != "Localhost":
        if local is not None:
            yield invalid(field, profile, "can only be set when seccomp type is Localhost")
    elif local is None:
        yield required(field, "must be set when seccomp type is Localhost")
    else:
        if local.startswith("/"):
            yield invalid(field, local, "must be a relative path")
        if ".." in local.split("/"):
            yield invalid(field, local, "must not contain '..'")


def _app_armor_causes(profile: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    field = f"{path}.localhostProfile"
    if kind == "Localhost":
        if not local:
            yield required(field, "must be set when AppArmor type is Localhost")
        elif local != local.strip():
            yield invalid(field, local, "must not be padded with whitespace")
        if local and len(local) > 4095:
            yield too_long(field, 4095)
    elif not kind:
        yield required(f"{path}.type", "type is required when appArmorProfile is set")
    elif kind not in _PROFILES:
        yield not_supported(f"{path}.type", kind, _PROFILES)
    elif local is not None:
        yield invalid(field, local, "can only be set when AppArmor type is Localhost")
