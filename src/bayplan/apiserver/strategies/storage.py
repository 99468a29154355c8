"""PersistentVolumes and claims, StorageClasses and CSI objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy, StatusStrategy
from bayplan.apiserver.strategies.pods.pod_defaults import DISK_DEFAULTS
from bayplan.apiserver.strategies.pods.pod_warnings import DEPRECATED_VOLUMES, term_warnings
from bayplan.apiserver.strategies.volume_claim_validation import (
    VOLUME_MODES,
    access_mode_causes,
    claim_spec_causes,
    claim_warnings,
)
from bayplan.apiserver.validation.field_errors import (
    duplicate,
    each,
    forbidden,
    immutable,
    invalid,
    not_supported,
    required,
)
from bayplan.apiserver.validation.name_validation import qualified_name_errors, subdomain_errors
from bayplan.apiserver.validation.selector_validation import node_selector_causes
from bayplan.model.quantity import Quantity

_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
_RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
#: Type of persistent volume → fields that must not be empty.
_VOLUME_KINDS: dict[str, tuple[str, ...]] = {
    "hostPath": ("path",),
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "glusterfs": ("endpoints", "path"),
    "flocker": (),
    "nfs": ("server", "path"),
    "rbd": ("monitors", "image"),
    "quobyte": ("registry", "volume"),
    "cephfs": ("monitors",),
    "iscsi": ("targetPortal", "iqn"),
    "cinder": ("volumeID",),
    "fc": (),
    "flexVolume": ("driver",),
    "azureFile": ("secretName", "shareName"),
    "vsphereVolume": ("volumePath",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "local": ("path",),
    "storageos": ("volumeName",),
    "csi": ("driver", "volumeHandle"),
}
_SPOKEN = {"gcePersistentDisk": "persistentDisk"}


class PersistentVolumeStrategy(StatusStrategy):
    """core/v1 PersistentVolume."""

    counts_generations = False
    returns_deleted = True

    def __init__(self, now: Callable[[], str]) -> None:
        self._now = now

    def default(self, obj: Object) -> None:
        obj.setdefault("status", {}).setdefault("phase", "Pending")
        spec = obj.setdefault("spec", {})
        if not spec.get("persistentVolumeReclaimPolicy"):
            spec["persistentVolumeReclaimPolicy"] = "Retain"
        spec.setdefault("volumeMode", "Filesystem")
        if "hostPath" in spec:
            spec["hostPath"].setdefault("type", "")
        for kind, defaults in DISK_DEFAULTS.items():
            if kind in spec:
                for key, value in defaults.items():
                    spec[kind].setdefault(key, value)

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": self._now()}

    def prepare_status_update(self, new: Object, old: Object) -> None:
        super().prepare_status_update(new, old)
        status, before = new.setdefault("status", {}), old.get("status", {})
        moved, known = status.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
        if status.get("phase") == before.get("phase"):
            if moved is None and known is not None:
                status["lastPhaseTransitionTime"] = known
        elif moved is None or moved == known:
            status["lastPhaseTransitionTime"] = self._now()

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        return list(_volume_warnings(obj["spec"]))

    def validate(self, obj: Object) -> list[StatusCause]:
        return list(_volume_causes(obj["spec"]))

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        spec, before = new["spec"], old["spec"]
        found = self.validate(new)
        if any(spec.get(kind) != before.get(kind) for kind in _VOLUME_KINDS):
            text = "spec.persistentvolumesource is immutable after creation\n"
            found.append(forbidden("spec.persistentvolumesource", text))
        found += immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
        if "nodeAffinity" in before:
            found += immutable("nodeAffinity", spec.get("nodeAffinity"), before["nodeAffinity"])
        key = "volumeAttributesClassName"
        if key in before and key not in spec:
            found.append(forbidden(f"spec.{key}", "update from non-nil value to nil is forbidden"))
        return found


def _volume_warnings(spec: Object) -> Iterator[str]:
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        advice = "Instead, the recommended approach is to use dynamic provisioning."
        text = f"The Recycle reclaim policy is deprecated. {advice}"
        yield f"spec.persistentVolumeReclaimPolicy: {text}"
    terms = spec.get("nodeAffinity", {}).get("required", {}).get("nodeSelectorTerms") or []
    for i, term in enumerate(terms):
        yield from term_warnings(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{i}]")
    for kind in spec.keys() & DEPRECATED_VOLUMES.keys() - {"gitRepo", "flocker", "quobyte"}:
        name = "storageOS" if kind == "storageos" else kind
        yield f"spec.{name}: {DEPRECATED_VOLUMES[kind]}"


def _volume_causes(spec: Object) -> Iterator[StatusCause]:
    yield from access_mode_causes(spec.get("accessModes", []), "spec.accessModes")
    capacity = spec.get("capacity", {})
    if not capacity:
        yield required("spec.capacity")
    if list(capacity) != ["storage"]:
        yield not_supported("spec.capacity", capacity or None, ("storage",))
    for name, text in capacity.items():
        if Quantity.parse(text).sign <= 0:
            yield invalid(f"spec.capacity[{name}]", text, "must be greater than zero")
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy not in _RECLAIM_POLICIES:
        yield not_supported("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM_POLICIES)
    if "nodeAffinity" in spec:
        if "required" in spec["nodeAffinity"]:
            yield from node_selector_causes(spec["nodeAffinity"]["required"], "spec.nodeAffinity.required")
        else:
            yield required("spec.nodeAffinity.required", "must specify required node constraints")
    yield from _source_causes(spec)
    if spec.get("hostPath", {}).get("path") == "/" and policy == "Recycle":
        yield forbidden("spec.persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'")
    for key in ("storageClassName", "volumeAttributesClassName"):
        if spec.get(key):
            yield from each(f"spec.{key}", spec[key], subdomain_errors(spec[key]))
    if spec.get("volumeMode") not in VOLUME_MODES:
        yield not_supported("spec.volumeMode", spec.get("volumeMode"), VOLUME_MODES)


def _source_causes(spec: Object) -> Iterator[StatusCause]:
    kinds = [kind for kind in _VOLUME_KINDS if kind in spec]
    if not kinds:
        yield required("spec", "must specify a volume type")
        return
    for kind in kinds[1:]:
        yield forbidden(f"spec.{kind}", "may not specify more than 1 volume type")
    kind, path = kinds[0], f"spec.{_SPOKEN.get(kinds[0], kinds[0])}"
    for key in _VOLUME_KINDS[kind]:
        if not spec[kind].get(key):
            yield required(f"{path}.{key}")
    where = spec[kind].get("path", "")
    if kind in ("hostPath", "local") and ".." in where.split("/"):
        yield invalid(f"{path}.path", where, "must not contain '..'")
    if kind == "nfs" and where and not where.startswith("/"):
        yield invalid(f"{path}.path", where, "must be an absolute path")
    if kind == "local" and "nodeAffinity" not in spec:
        yield required("spec.nodeAffinity", "Local volume requires node affinity")
    if kind == "csi" and spec["csi"].get("driver"):
        yield from driver_name_causes(spec["csi"]["driver"], f"{path}.driver")


def driver_name_causes(name: str, field: str) -> Iterator[StatusCause]:
    if not name:
        yield required(field)
    elif len(name) > 63:
        yield StatusCause(field, "FieldValueTooLong", "Too long: may not be more than 63 bytes")
    yield from each(field, name, subdomain_errors(name.lower()))


class PersistentVolumeClaimStrategy(StatusStrategy):
    """core/v1 PersistentVolumeClaim."""

    counts_generations = False
    returns_deleted = True
    empty_status: Mapping[str, Any] = {"phase": "Pending"}

    def default(self, obj: Object) -> None:
        obj.setdefault("status", {}).setdefault("phase", "Pending")
        obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        _normalize_sources(obj["spec"])

    def prepare_update(self, new: Object, old: Object) -> None:
        super().prepare_update(new, old)
        _normalize_sources(new["spec"])

    def validate(self, obj: Object) -> list[StatusCause]:
        return list(claim_spec_causes(obj["spec"], "spec"))

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        spec, before = new["spec"], old["spec"]
        found = self.validate(new)
        found += _class_annotation_causes(new, old)
        if _frozen_part(new, old) != _frozen_part(old, old):
            text = (
                "spec is immutable after creation except resources.requests and volumeAttributesClassName "
                "for bound claims\n"
            )
            found.append(forbidden("spec", text))
        found += _shrink_causes(spec, before, old.get("status", {}))
        found += immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
        return found

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        return list(claim_warnings(obj["spec"], "spec"))

    def validate_status_update(self, new: Object, old: Object) -> list[StatusCause]:
        found = []
        for name, text in new.get("status", {}).get("capacity", {}).items():
            if Quantity.parse(text).value < 0:
                value = Quantity.parse(text).value
                found.append(invalid(f"status.capacity[{name}]", value, "must be a valid resource quantity"))
        return found


def _normalize_sources(spec: Object) -> None:
    """dataSource and dataSourceRef mirror each other; dataSource takes core kinds only."""
    source = spec.get("dataSource")
    if source is not None and "dataSourceRef" not in spec:
        kinds = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
        if (source.get("apiGroup") or "", source.get("kind", "")) in kinds:
            spec["dataSourceRef"] = dict(source)
        else:
            del spec["dataSource"]
    elif source is None and "dataSourceRef" in spec and not spec["dataSourceRef"].get("namespace"):
        spec["dataSource"] = dict(spec["dataSourceRef"])


def _class_annotation_causes(new: Object, old: Object) -> list[StatusCause]:
    after, before = (obj["metadata"].get("annotations", {}).get(_STORAGE_CLASS, "") for obj in (new, old))
    return immutable(f"metadata.annotations[{_STORAGE_CLASS}]", after, before) if after != before else []


def _frozen_part(obj: Object, old: Object) -> Object:
    """The spec without what may change: by binding, by a later default class, by expansion."""
    spec = dict(obj["spec"])
    free = []
    if not old["spec"].get("volumeName"):
        free.append("volumeName")
    if "storageClassName" not in old["spec"]:
        free.append("storageClassName")
    if old.get("status", {}).get("phase") == "Bound":
        free.append("volumeAttributesClassName")
        resources = spec.get("resources", {})
        requests = {key: value for key, value in resources.get("requests", {}).items() if key != "storage"}
        spec["resources"] = {**resources, "requests": requests}
    return {key: value for key, value in spec.items() if key not in free}


def _shrink_causes(spec: Object, before: Object, status: Object) -> Iterator[StatusCause]:
    size, known = (
        Quantity.parse(part.get("resources", {}).get("requests", {}).get("storage", "0"))
        for part in (spec, before)
    )
    capacity = Quantity.parse(status.get("capacity", {}).get("storage", "0"))
    if size < known and size <= capacity:
        yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")


class StorageClassStrategy(RestStrategy):
    """storage.k8s.io/v1 StorageClass."""

    returns_deleted = True

    def default(self, obj: Object) -> None:
        obj.setdefault("reclaimPolicy", "Delete")
        obj.setdefault("volumeBindingMode", "Immediate")

    def validate(self, obj: Object) -> list[StatusCause]:
        found = []
        provisioner = obj.get("provisioner", "")
        if provisioner:
            found += each("provisioner", provisioner, qualified_name_errors(provisioner.lower()))
        else:
            found.append(required("provisioner"))
        if "" in obj.get("parameters", {}):
            found.append(invalid("parameters", "", "field can not be empty."))
        if obj["reclaimPolicy"] not in ("Delete", "Retain"):
            found.append(not_supported("reclaimPolicy", obj["reclaimPolicy"], ("Delete", "Retain")))
        modes = ("Immediate", "WaitForFirstConsumer")
        if obj["volumeBindingMode"] not in modes:
            found.append(not_supported("volumeBindingMode", obj["volumeBindingMode"], modes))
        return found

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        found = self.validate(new)
        if new.get("parameters", {}) != old.get("parameters", {}):
            found.append(forbidden("parameters", "updates to parameters are forbidden."))
        if new.get("provisioner") != old.get("provisioner"):
            found.append(forbidden("provisioner", "updates to provisioner are forbidden."))
        if new.get("reclaimPolicy") != old.get("reclaimPolicy"):
            found.append(forbidden("reclaimPolicy", "updates to reclaimPolicy are forbidden."))
        return found + immutable("volumeBindingMode", new["volumeBindingMode"], old["volumeBindingMode"])


class CSIDriverStrategy(RestStrategy):
    """storage.k8s.io/v1 CSIDriver."""

    returns_deleted = True
    allows_unconditional_update = False

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("attachRequired", True)
        for key in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
            spec.setdefault(key, False)
        spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]

    def validate(self, obj: Object) -> list[StatusCause]:
        name = obj["metadata"].get("name", "")
        found = list(driver_name_causes(name, "metadata.name")) if name else []
        policies = ("File", "None", "ReadWriteOnceWithFSType")
        if obj["spec"]["fsGroupPolicy"] not in policies:
            found.append(not_supported("spec.fsGroupPolicy", obj["spec"]["fsGroupPolicy"], policies))
        modes = ("Ephemeral", "Persistent")
        for mode in obj["spec"]["volumeLifecycleModes"]:
            if mode not in modes:
                found.append(not_supported("spec.volumeLifecycleModes", mode, modes))
        return found

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        spec, before = new["spec"], old["spec"]
        modes = "volumeLifecycleModes"
        return [
            *self.validate(new),
            *immutable("spec.attachedRequired", spec["attachRequired"], before.get("attachRequired")),
            *immutable(f"spec.{modes}", sorted(spec[modes]), sorted(before.get(modes, []))),
        ]

    def prepare_update(self, new: Object, old: Object) -> None:
        if new["spec"] != old["spec"]:
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


class CSINodeStrategy(RestStrategy):
    """storage.k8s.io/v1 CSINode."""

    returns_deleted = True
    allows_unconditional_update = False

    def validate(self, obj: Object) -> list[StatusCause]:
        found: list[StatusCause] = []
        names: set[str] = set()
        for i, driver in enumerate(obj.get("spec", {}).get("drivers") or ()):
            path, name = f"spec.drivers[{i}]", driver.get("name", "")
            found += driver_name_causes(name, f"{path}.name")
            if not driver.get("nodeID"):
                found.append(required(f"{path}.nodeID"))
            if name in names:
                found.append(duplicate(f"{path}.name", name))
            names.add(name)
            if driver.get("allocatable", {}).get("count", 0) < 0:
                text = "must be greater than or equal to 0"
                found.append(invalid(f"{path}.allocatable.count", driver["allocatable"]["count"], text))
        return found


class ReturnDeletedStrategy(RestStrategy):
    """Kinds without validation whose deletion returns the object."""

    returns_deleted = True


class VolumeAttachmentStrategy(StatusStrategy):
    """storage.k8s.io/v1 VolumeAttachment."""

    counts_generations = False
    returns_deleted = True
    allows_unconditional_update = False
    empty_status: Mapping[str, Any] = {"attached": False}
