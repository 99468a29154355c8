"""Validation of the volumes of a pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.strategies.pods.container_validation import descending_path_causes
from bayplan.apiserver.strategies.pods.environment_validation import (
    VOLUME_FIELDS,
    field_ref_causes,
    resource_ref_causes,
)
from bayplan.apiserver.strategies.volume_claim_validation import claim_spec_causes
from bayplan.apiserver.validation.field_errors import duplicate, each, forbidden, invalid, not_supported, required
from bayplan.apiserver.validation.name_validation import label_errors, subdomain_errors
from bayplan.model.quantity import Quantity

#: Volume type → fields that must not be empty, in the order in which Kubernetes checks them.
REQUIRED_FIELDS: dict[str, tuple[str, ...]] = {
    "emptyDir": (),
    "hostPath": ("path",),
    "gitRepo": ("repository",),
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "secret": ("secretName",),
    "nfs": ("server", "path"),
    "iscsi": ("targetPortal", "iqn"),
    "glusterfs": ("endpoints", "path"),
    "flocker": (),
    "persistentVolumeClaim": ("claimName",),
    "rbd": ("monitors", "image"),
    "cinder": ("volumeID",),
    "cephfs": ("monitors",),
    "quobyte": ("registry", "volume"),
    "downwardAPI": (),
    "fc": (),
    "flexVolume": ("driver",),
    "configMap": ("name",),
    "azureFile": ("secretName", "shareName"),
    "vsphereVolume": ("volumePath",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "storageos": ("volumeName",),
    "projected": (),
    "scaleIO": ("gateway", "system", "volumeName"),
    "csi": ("driver",),
    "ephemeral": ("volumeClaimTemplate",),
    "image": ("reference",),
}
#: Fields whose name in messages differs from that in the API.
_SPOKEN = {"gcePersistentDisk": "persistentDisk"}
_HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"
)  # fmt: skip
_MODE_TEXT = "must be a number between 0 and 0777 (octal), both inclusive"


def volume_causes(
    volumes: Iterable[Mapping[str, Any]], pod_name: str, path: str
) -> tuple[list[StatusCause], dict[str, Mapping[str, Any]]]:
    """The errors, and the valid volumes by name: only those can be mounted."""
    found: list[StatusCause] = []
    good: dict[str, Mapping[str, Any]] = {}
    created = {f"{pod_name}-{volume.get('name', '')}" for volume in volumes if pod_name and "ephemeral" in volume}
    for i, volume in enumerate(volumes):
        name, field_path = volume.get("name", ""), f"{path}[{i}]"
        about = [*_source_causes(volume, pod_name, field_path)]
        about += each(f"{field_path}.name", name, label_errors(name)) if name else [required(f"{field_path}.name")]
        if name in good:
            about.append(duplicate(f"{field_path}.name", name))
        if not about:
            good[name] = volume
        found += about
        claim = volume.get("persistentVolumeClaim", {}).get("claimName")
        if claim in created:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            found.append(invalid(f"{field_path}.persistentVolumeClaim.claimName", claim, text))
    return found, good


def _source_causes(volume: Mapping[str, Any], pod_name: str, path: str) -> Iterator[StatusCause]:
    kinds = [kind for kind in REQUIRED_FIELDS if kind in volume]
    for kind in kinds[1:]:
        yield forbidden(f"{path}.{kind}", "may not specify more than 1 volume type")
    if not kinds:
        yield required(path, "must specify a volume type")
        return
    kind, source = kinds[0], volume[kinds[0]]
    field_path = f"{path}.{_SPOKEN.get(kind, kind)}"
    for key in REQUIRED_FIELDS[kind]:
        if not source.get(key):
            yield required(f"{field_path}.{key}")
    if kind in _PARTICULAR:
        yield from _PARTICULAR[kind](source, field_path)
    if kind == "ephemeral" and pod_name and volume.get("name"):
        claim = f"{pod_name}-{volume['name']}"
        complaints = [f'PVC name "{claim}": {complaint}' for complaint in subdomain_errors(claim)]
        yield from each(f"{path}.name", volume["name"], complaints)


def _empty_dir_causes(source: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if "sizeLimit" in source and Quantity.parse(source["sizeLimit"]).sign < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _host_path_causes(source: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if not source.get("path"):
        return
    if ".." in source["path"].split("/"):
        yield invalid(f"{path}.path", source["path"], "must not contain '..'")
    if source.get("type") is not None and source["type"] not in _HOST_PATH_TYPES:
        yield not_supported(f"{path}.type", source["type"], _HOST_PATH_TYPES)


def _items_causes(source: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    """Items of secrets and config maps: keys and the paths of their files."""
    yield from _mode_causes(source, "defaultMode", path)
    for i, item in enumerate(source.get("items", ())):
        field_path = f"{path}.items[{i}]"
        if not item.get("key"):
            yield required(f"{field_path}.key")
        yield from _file_causes(item, field_path)


def _downward_causes(source: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    yield from _mode_causes(source, "defaultMode", path)
    for i, item in enumerate(source.get("items", ())):
        field_path = f"{path}.items[{i}]"
        yield from _file_causes(item, field_path)
        if "fieldRef" in item:
            yield from field_ref_causes(item["fieldRef"], f"{field_path}.fieldRef", VOLUME_FIELDS)
            if "resourceFieldRef" in item:
                text = "fieldRef and resourceFieldRef can not be specified simultaneously"
                yield invalid(field_path, "resource", text)
        elif "resourceFieldRef" in item:
            yield from resource_ref_causes(
                item["resourceFieldRef"], f"{field_path}.resourceFieldRef", in_volume=True
            )
        else:
            yield required(field_path, "one of fieldRef and resourceFieldRef is required")


def _file_causes(item: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    target = item.get("path", "")
    if not target:
        yield required(f"{path}.path")
    yield from descending_path_causes(target, f"{path}.path")
    if target.startswith("..") and ".." not in target.split("/"):
        yield invalid(f"{path}.path", target, "must not start with '..'")
    yield from _mode_causes(item, "mode", path)


def _mode_causes(source: Mapping[str, Any], key: str, path: str) -> Iterator[StatusCause]:
    if source.get(key) is not None and not 0 <= source[key] <= 0o777:
        yield invalid(f"{path}.{key}", source[key], _MODE_TEXT)


def _projected_causes(source: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    yield from _mode_causes(source, "defaultMode", path)
    paths: set[str] = set()
    for i, part in enumerate(source.get("sources") or []):
        field_path = f"{path}.sources[{i}]"
        if len(part) > 1:
            for kind in list(part)[1:]:
                yield forbidden(f"{field_path}.{kind}", "may not specify more than 1 volume type per source")
        for kind, projection in part.items():
            yield from _projection_causes(kind, projection, f"{field_path}.{kind}", paths)
        if not part:
            yield required(field_path, "must specify a projection source")


def _projection_causes(
    kind: str, projection: Mapping[str, Any], path: str, paths: set[str]
) -> Iterator[StatusCause]:
    if kind in ("secret", "configMap"):
        if not projection.get("name"):
            yield required(f"{path}.name")
        yield from _items_causes(projection, path)
    elif kind == "downwardAPI":
        yield from _downward_causes(projection, path)
    elif kind == "serviceAccountToken":
        yield from _token_causes(projection, path)
    for item in projection.get("items", ()):
        if item.get("path"):
            if item["path"] in paths:
                yield invalid(path, item["path"], "conflicting duplicate paths")
            paths.add(item["path"])


def _token_causes(projection: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    seconds = projection.get("expirationSeconds", 3600)
    if seconds < 600:
        text = "may not specify a duration less than 10 minutes"
        yield invalid(f"{path}.expirationSeconds", seconds, text)
    if seconds > 1 << 32:
        text = "may not specify a duration larger than 2^32 seconds"
        yield invalid(f"{path}.expirationSeconds", seconds, text)
    target = projection.get("path", "")
    if not target:
        yield required(f"{path}.path")
    else:
        yield from descending_path_causes(target, f"{path}.path")


def _disk_causes(source: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if not 0 <= source.get("partition", 0) <= 255:
        yield invalid(
            f"{path}.partition", source["partition"], "must be a number between 0 and 255, both inclusive"
        )


def _nfs_causes(source: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if source.get("path") and not source["path"].startswith("/"):
        yield invalid(f"{path}.path", source["path"], "must be an absolute path")


def _ephemeral_causes(source: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if "volumeClaimTemplate" in source:
        spec = source["volumeClaimTemplate"].get("spec", {})
        yield from claim_spec_causes(spec, f"{path}.volumeClaimTemplate.spec")


def _image_causes(source: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    policies = ("Always", "IfNotPresent", "Never")
    if source.get("pullPolicy") not in policies:
        yield not_supported(f"{path}.pullPolicy", source.get("pullPolicy", ""), policies)


_PARTICULAR = {
    "emptyDir": _empty_dir_causes,
    "hostPath": _host_path_causes,
    "secret": _items_causes,
    "configMap": _items_causes,
    "downwardAPI": _downward_causes,
    "projected": _projected_causes,
    "gcePersistentDisk": _disk_causes,
    "awsElasticBlockStore": _disk_causes,
    "nfs": _nfs_causes,
    "ephemeral": _ephemeral_causes,
    "image": _image_causes,
}
