"""Validation of environment variables and downward API fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.validation.field_errors import each, invalid, not_supported, required
from bayplan.apiserver.validation.name_validation import (
    config_key_errors,
    env_name_errors,
    label_errors,
    qualified_name_errors,
    subdomain_errors,
)
from bayplan.model.quantity import Quantity

_ENV_FIELDS = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
VOLUME_FIELDS = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
)  # fmt: skip
_KNOWN_FIELDS = frozenset((*_ENV_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "status.phase"))
_RESOURCES = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_PAGES = ("limits.hugepages-", "requests.hugepages-")
_UNITS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_SUBSCRIPT = re.compile(r"(.*)\['(.*)'\]", re.DOTALL)


def env_causes(variables: Iterable[Mapping[str, Any]], path: str) -> Iterator[StatusCause]:
    for i, variable in enumerate(variables):
        field_path, name = f"{path}[{i}]", variable.get("name", "")
        if name:
            yield from each(f"{field_path}.name", name, env_name_errors(name))
        else:
            yield required(f"{field_path}.name")
        if "valueFrom" in variable:
            yield from _source_causes(variable["valueFrom"], variable.get("value", ""), f"{field_path}.valueFrom")


def _source_causes(source: Mapping[str, Any], value: str, path: str) -> Iterator[StatusCause]:
    if "fieldRef" in source:
        yield from field_ref_causes(source["fieldRef"], f"{path}.fieldRef", _ENV_FIELDS)
    if "resourceFieldRef" in source:
        yield from resource_ref_causes(source["resourceFieldRef"], f"{path}.resourceFieldRef", in_volume=False)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if kind in source:
            yield from _key_ref_causes(source[kind], f"{path}.{kind}")
    if "fileKeyRef" in source:
        yield from _file_ref_causes(source["fileKeyRef"], f"{path}.fileKeyRef")
    if not source:
        kinds = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield invalid(path, "", f"must specify one of: {kinds}")
    elif value:
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(source) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def field_ref_causes(ref: Mapping[str, str], path: str, allowed: tuple[str, ...]) -> Iterator[StatusCause]:
    for key in ("apiVersion", "fieldPath"):
        if not ref.get(key):
            yield required(f"{path}.{key}")
            return
    text = ref["fieldPath"]
    found = _SUBSCRIPT.fullmatch(text)
    name = found[1] if found else text
    if ref["apiVersion"] != "v1":
        complaint = f"error converting fieldPath: unsupported pod version: {ref['apiVersion']}"
        yield invalid(f"{path}.fieldPath", text, complaint)
    elif found and name not in ("metadata.annotations", "metadata.labels"):
        complaint = f"error converting fieldPath: field label does not support subscript: {text}"
        yield invalid(f"{path}.fieldPath", text, complaint)
    elif found:
        subscript = found[2].lower() if name == "metadata.annotations" else found[2]
        yield from each(path, subscript, qualified_name_errors(subscript))
    elif name not in _KNOWN_FIELDS:
        complaint = f"error converting fieldPath: field label not supported: {text}"
        yield invalid(f"{path}.fieldPath", text, complaint)
    elif name not in allowed:
        yield not_supported(f"{path}.fieldPath", name, sorted(allowed))


def resource_ref_causes(ref: Mapping[str, Any], path: str, *, in_volume: bool) -> Iterator[StatusCause]:
    resource = ref.get("resource", "")
    if in_volume and not ref.get("containerName"):
        yield required(f"{path}.containerName")
    elif not resource:
        yield required(f"{path}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_PAGES):
        yield not_supported(f"{path}.resource", resource, _RESOURCES)
    divisor = str(ref.get("divisor", "0"))
    if not Quantity.parse(divisor).is_zero and not _is_good_divisor(resource, divisor):
        yield invalid(f"{path}.divisor", resource, "only certain divisor's values are supported with the resource")


def _is_good_divisor(resource: str, divisor: str) -> bool:
    if resource in ("limits.cpu", "requests.cpu"):
        return divisor in ("1m", "1")
    return divisor in _UNITS or not (resource in _RESOURCES or resource.startswith(_PAGES))


def _key_ref_causes(ref: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    yield from each(f"{path}.name", ref.get("name", ""), subdomain_errors(ref.get("name", "")))
    if ref.get("key"):
        yield from each(f"{path}.key", ref["key"], config_key_errors(ref["key"]))
    else:
        yield required(f"{path}.key")


def _file_ref_causes(ref: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    for key in ("key", "volumeName", "path"):
        if not ref.get(key):
            yield required(f"{path}.{key}")
    if ref.get("key"):
        yield from each(f"{path}.key", ref["key"], env_name_errors(ref["key"]))
    if ref.get("volumeName"):
        yield from each(f"{path}.volumeName", ref["volumeName"], label_errors(ref["volumeName"]))
    if ".." in ref.get("path", "").split("/"):
        yield invalid(f"{path}.path", ref["path"], "must not contain '..'")


def env_from_causes(sources: Iterable[Mapping[str, Any]], path: str) -> Iterator[StatusCause]:
    for i, source in enumerate(sources):
        if source.get("prefix"):
            yield from each(f"{path}[{i}].prefix", source["prefix"], env_name_errors(source["prefix"]))
        kinds = [kind for kind in ("configMapRef", "secretRef") if kind in source]
        for kind in kinds:
            name = source[kind].get("name", "")
            if name:
                complaints = subdomain_errors(name, prefix=True)
                yield from each(f"{path}[{i}].{kind}.name", name, complaints)
            else:
                yield required(f"{path}[{i}].{kind}.name")
        if not kinds:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(kinds) > 1:
            yield invalid(path, "", "may not have more than one field specified at a time")
