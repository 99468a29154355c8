"""Rules for the volumes of a pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.apiserver.causes import duplicate, each, forbidden, invalid, not_supported, required
from bayplan.apiserver.names import label_errors, subdomain_errors
from bayplan.apiserver.status import Cause
from bayplan.apiserver.strategies.containers import descending_path_causes
from bayplan.apiserver.strategies.environment import VOLUME_FIELDS, field_ref_causes, resource_ref_causes
from bayplan.apiserver.strategies.volume_claims import claim_spec_causes
from bayplan.model.quantity import Quantity

#: Kind of volume → the fields that must not be empty. In the order in which Kubernetes looks at them.
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
#: Where a rule speaks of a field by another name than the user.
_SPOKEN = {"gcePersistentDisk": "persistentDisk"}
_HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"
)  # fmt: skip
_MODE_TEXT = "must be a number between 0 and 0777 (octal), both inclusive"


def volume_causes(
    volumes: Iterable[Mapping[str, Any]], pod_name: str, path: str
) -> tuple[list[Cause], dict[str, Mapping[str, Any]]]:
    """What is wrong, and the volumes that are in order by name: only those can be mounted."""
    found: list[Cause] = []
    good: dict[str, Mapping[str, Any]] = {}
    created = {f"{pod_name}-{volume.get('name', '')}" for volume in volumes if pod_name and "ephemeral" in volume}
    for i, volume in enumerate(volumes):
        name, place = volume.get("name", ""), f"{path}[{i}]"
        about = [*_source_causes(volume, pod_name, place)]
        about += each(f"{place}.name", name, label_errors(name)) if name else [required(f"{place}.name")]
        if name in good:
            about.append(duplicate(f"{place}.name", name))
        if not about:
            good[name] = volume
        found += about
        claim = volume.get("persistentVolumeClaim", {}).get("claimName")
        if claim in created:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            found.append(invalid(f"{place}.persistentVolumeClaim.claimName", claim, text))
    return found, good


def _source_causes(volume: Mapping[str, Any], pod_name: str, path: str) -> Iterator[Cause]:
    kinds = [kind for kind in REQUIRED_FIELDS if kind in volume]
    for kind in kinds[1:]:
        yield forbidden(f"{path}.{kind}", "may not specify more than 1 volume type")
    if not kinds:
        yield required(path, "must specify a volume type")
        return
    kind, source = kinds[0], volume[kinds[0]]
    place = f"{path}.{_SPOKEN.get(kind, kind)}"
    for key in REQUIRED_FIELDS[kind]:
        if not source.get(key):
            yield required(f"{place}.{key}")
    if kind in _PARTICULAR:
        yield from _PARTICULAR[kind](source, place)
    if kind == "ephemeral" and pod_name and volume.get("name"):
        claim = f"{pod_name}-{volume['name']}"
        complaints = [f'PVC name "{claim}": {complaint}' for complaint in subdomain_errors(claim)]
        yield from each(f"{path}.name", volume["name"], complaints)


def _empty_dir_causes(source: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if "sizeLimit" in source and Quantity.parse(source["sizeLimit"]).sign < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _host_path_causes(source: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if not source.get("path"):
        return
    if ".." in source["path"].split("/"):
        yield invalid(f"{path}.path", source["path"], "must not contain '..'")
    if source.get("type") is not None and source["type"] not in _HOST_PATH_TYPES:
        yield not_supported(f"{path}.type", source["type"], _HOST_PATH_TYPES)


def _items_causes(source: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """Secrets and config maps: the files that their keys become."""
    yield from _mode_causes(source, "defaultMode", path)
    for i, item in enumerate(source.get("items", ())):
        place = f"{path}.items[{i}]"
        if not item.get("key"):
            yield required(f"{place}.key")
        yield from _file_causes(item, place)


def _downward_causes(source: Mapping[str, Any], path: str) -> Iterator[Cause]:
    yield from _mode_causes(source, "defaultMode", path)
    for i, item in enumerate(source.get("items", ())):
        place = f"{path}.items[{i}]"
        yield from _file_causes(item, place)
        if "fieldRef" in item:
            yield from field_ref_causes(item["fieldRef"], f"{place}.fieldRef", VOLUME_FIELDS)
            if "resourceFieldRef" in item:
                text = "fieldRef and resourceFieldRef can not be specified simultaneously"
                yield invalid(place, "resource", text)
        elif "resourceFieldRef" in item:
            yield from resource_ref_causes(item["resourceFieldRef"], f"{place}.resourceFieldRef", in_volume=True)
        else:
            yield required(place, "one of fieldRef and resourceFieldRef is required")


def _file_causes(item: Mapping[str, Any], path: str) -> Iterator[Cause]:
    target = item.get("path", "")
    if not target:
        yield required(f"{path}.path")
    yield from descending_path_causes(target, f"{path}.path")
    if target.startswith("..") and ".." not in target.split("/"):
        yield invalid(f"{path}.path", target, "must not start with '..'")
    yield from _mode_causes(item, "mode", path)


def _mode_causes(source: Mapping[str, Any], key: str, path: str) -> Iterator[Cause]:
    if source.get(key) is not None and not 0 <= source[key] <= 0o777:
        yield invalid(f"{path}.{key}", source[key], _MODE_TEXT)


def _projected_causes(source: Mapping[str, Any], path: str) -> Iterator[Cause]:
    yield from _mode_causes(source, "defaultMode", path)
    paths: set[str] = set()
    for i, part in enumerate(source.get("sources") or []):
        place = f"{path}.sources[{i}]"
        if len(part) > 1:
            for kind in list(part)[1:]:
                yield forbidden(f"{place}.{kind}", "may not specify more than 1 volume type per source")
        for kind, projection in part.items():
            yield from _projection_causes(kind, projection, f"{place}.{kind}", paths)
        if not part:
            yield required(place, "must specify a projection source")


def _projection_causes(kind: str, projection: Mapping[str, Any], path: str, paths: set[str]) -> Iterator[Cause]:
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


def _token_causes(projection: Mapping[str, Any], path: str) -> Iterator[Cause]:
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


def _disk_causes(source: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if not 0 <= source.get("partition", 0) <= 255:
        yield invalid(
            f"{path}.partition", source["partition"], "must be a number between 0 and 255, both inclusive"
        )


def _nfs_causes(source: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if source.get("path") and not source["path"].startswith("/"):
        yield invalid(f"{path}.path", source["path"], "must be an absolute path")


def _ephemeral_causes(source: Mapping[str, Any], path: str) -> Iterator[Cause]:
    if "volumeClaimTemplate" in source:
        spec = source["volumeClaimTemplate"].get("spec", {})
        yield from claim_spec_causes(spec, f"{path}.volumeClaimTemplate.spec")


def _image_causes(source: Mapping[str, Any], path: str) -> Iterator[Cause]:
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
