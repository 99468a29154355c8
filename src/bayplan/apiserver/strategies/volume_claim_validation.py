"""Validation of the spec of a PersistentVolumeClaim, also of one within a template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.validation.field_errors import each, forbidden, invalid, not_supported, required
from bayplan.apiserver.validation.name_validation import label_errors, subdomain_errors
from bayplan.apiserver.validation.selector_validation import selector_causes
from bayplan.model.quantity import Quantity

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")


def claim_warnings(spec: Mapping[str, Any], path: str) -> Iterator[str]:
    """Warnings about fractional bytes."""
    for key in ("requests", "limits"):
        size = spec.get("resources", {}).get(key, {}).get("storage")
        if size is not None and Quantity.parse(size).milli_value % 1000:
            text = f'fractional byte value "{size}" is invalid, must be an integer'
            yield f"{path}.resources.{key}[storage]: {text}"


def access_mode_causes(modes: list[str], path: str, text: str = "") -> Iterator[StatusCause]:
    if not modes:
        yield required(path, text)
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield not_supported(path, mode, ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES[:3] for mode in modes):
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def claim_spec_causes(spec: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    modes = spec.get("accessModes", [])
    yield from access_mode_causes(modes, f"{path}.accessModes", "at least 1 access mode is required")
    yield from selector_causes(spec.get("selector"), f"{path}.selector")
    size, field = spec.get("resources", {}).get("requests", {}).get("storage"), f"{path}.resources[storage]"
    if size is None:
        yield required(field)
    elif Quantity.parse(size).sign <= 0:
        yield invalid(field, size, "must be greater than zero")
    for key in ("storageClassName", "volumeAttributesClassName"):
        if spec.get(key):
            yield from each(f"{path}.{key}", spec[key], subdomain_errors(spec[key]))
    if spec.get("volumeMode", "Filesystem") not in VOLUME_MODES:
        yield not_supported(f"{path}.volumeMode", spec["volumeMode"], VOLUME_MODES)
    for key in ("dataSource", "dataSourceRef"):
        if key in spec:
            yield from _data_source_causes(spec[key], f"{path}.{key}")
    yield from _agreement_causes(spec, path)


def _data_source_causes(source: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    for key in ("name", "kind"):
        if not source.get(key):
            yield required(f"{path}.{key}")
    group = source.get("apiGroup") or ""
    if not group and source.get("kind") != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield invalid(path, source.get("kind", ""), text)
    if group:
        yield from each(f"{path}.apiGroup", group, subdomain_errors(group))
    if source.get("namespace"):
        yield from each(f"{path}.namespace", source["namespace"], label_errors(source["namespace"]))


def _agreement_causes(spec: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        yield invalid(path, f"{path}.dataSource", "may not be specified when dataSourceRef.namespace is specified")
    elif any(source.get(key) != reference.get(key) for key in ("apiGroup", "kind", "name")):
        yield invalid(path, f"{path}.dataSource", "must match dataSourceRef")
