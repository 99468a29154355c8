"""Admission of nodes and of PersistentVolumeClaims."""

from __future__ import annotations

from bayplan.apiserver.admission.lookup import ObjectLookup, refusal
from bayplan.apiserver.registry.attributes import CREATE, UPDATE, AdmissionAttributes
from bayplan.apiserver.registry.rest_strategy import Object

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_IS_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_PROTECTION = "kubernetes.io/pvc-protection"
CLASSES = "storage.k8s.io/storageclasses"


class TaintNodesByCondition:
    """A new node is tainted as not ready."""

    name = "TaintNodesByCondition"

    def admit(self, attributes: AdmissionAttributes) -> None:
        if attributes.resource.plural != "nodes" or attributes.operation != CREATE or attributes.obj is None:
            return
        taints = attributes.obj.setdefault("spec", {}).setdefault("taints", [])
        if not any((taint.get("key"), taint.get("effect")) == tuple(_NOT_READY.values()) for taint in taints):
            taints.append(dict(_NOT_READY))

    def check(self, attributes: AdmissionAttributes) -> None:
        """Nothing to refuse."""


class DefaultStorageClass:
    """A claim without a class gets the default one, the newest if there are several."""

    name = "DefaultStorageClass"

    def __init__(self, lookup: ObjectLookup) -> None:
        self._lookup = lookup

    def admit(self, attributes: AdmissionAttributes) -> None:
        if attributes.resource.plural != "persistentvolumeclaims" or attributes.subresource:
            return
        if attributes.operation != CREATE or attributes.obj is None or not self._lookup.any(CLASSES):
            return
        obj = attributes.obj
        if "storageClassName" in obj["spec"] or _OLD_CLASS in obj["metadata"].get("annotations", {}):
            return
        defaults = [each for each in self._lookup.list(CLASSES) if _is_default(each)]
        if defaults:
            newest = max(defaults, key=lambda each: (each["metadata"]["creationTimestamp"], _reverse(each)))
            obj["spec"]["storageClassName"] = newest["metadata"]["name"]

    def check(self, attributes: AdmissionAttributes) -> None:
        """Nothing to refuse."""


def _is_default(storage_class: Object) -> bool:
    annotations = storage_class["metadata"].get("annotations", {})
    return any(annotations.get(key) == "true" for key in _IS_DEFAULT)


def _reverse(storage_class: Object) -> tuple[int, ...]:
    """Sorts names in reverse: of classes of the same age, the first by name wins."""
    return tuple(-ord(letter) for letter in storage_class["metadata"]["name"])


class StorageObjectInUseProtection:
    """A claim stays until no pod uses it: a finalizer, which the controllers remove."""

    name = "StorageObjectInUseProtection"

    def admit(self, attributes: AdmissionAttributes) -> None:
        if attributes.resource.plural != "persistentvolumeclaims" or attributes.subresource:
            return
        if attributes.operation != CREATE or attributes.obj is None:
            return
        finalizers = attributes.obj["metadata"].setdefault("finalizers", [])
        if _PROTECTION not in finalizers:
            finalizers.append(_PROTECTION)

    def check(self, attributes: AdmissionAttributes) -> None:
        """Nothing to refuse."""


class PersistentVolumeClaimResize:
    """A claim may grow if it is bound and its class allows expansion."""

    name = "PersistentVolumeClaimResize"

    def __init__(self, lookup: ObjectLookup) -> None:
        self._lookup = lookup

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Nothing to change."""

    def check(self, attributes: AdmissionAttributes) -> None:
        if attributes.resource.plural != "persistentvolumeclaims" or attributes.subresource:
            return
        if attributes.operation != UPDATE or attributes.obj is None or attributes.old is None:
            return
        new, old = attributes.obj["spec"], attributes.old["spec"]
        if _size(new) == _size(old):
            return
        if attributes.old.get("status", {}).get("phase") != "Bound":
            raise refusal(attributes, "Only bound persistent volume claims can be expanded")
        storage_class = self._lookup.get(CLASSES, "", old.get("storageClassName", ""))
        if not (storage_class or {}).get("allowVolumeExpansion"):
            why = (
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc "
                "must support resize"
            )
            raise refusal(attributes, why)


def _size(spec: Object) -> str | None:
    size: str | None = spec.get("resources", {}).get("requests", {}).get("storage")
    return size
