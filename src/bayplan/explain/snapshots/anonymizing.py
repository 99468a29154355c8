"""Anonymous snapshots: every name replaced, in every field that refers to it, and the same decisions as before.

In: objects as `captured_fields` leaves them. Out: the same with other names, and the `Renaming`. Kept are words
that programs understand: well-known labels, taints and resources, the names of schedulers, of CSI and device
drivers and of what devices have (selectors in CEL name them), numbers that are compared, amounts, times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from bayplan.explain.snapshots.renaming import Renaming
from bayplan.model import is_native_resource

Mapped = dict[str, Any]

_KEPT_KEYS: Final = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "kubernetes.io/metadata.name",
        "scheduling.x-k8s.io/pod-group",
        "pod-template-hash",
        "controller-revision-hash",
    }
)
_KEPT_PREFIXES: Final = ("node.kubernetes.io/", "topology.", "failure-domain.beta.kubernetes.io/")
#: Values of these are words of Kubernetes.
_KEPT_VALUES: Final = frozenset({"kubernetes.io/os", "kubernetes.io/arch"})
#: Values of these are the names of objects.
_NAMING_KEYS: Final = {
    "kubernetes.io/hostname": "node",
    "kubernetes.io/metadata.name": "namespace",
    "scheduling.x-k8s.io/pod-group": "podgroup",
}
#: Extended resources that are products, not somebody's own.
_KNOWN_VENDORS: Final = ("nvidia.com/", "amd.com/", "gpu.intel.com/")
_IMPLICIT_CLASS: Final = "deviceclass.resource.kubernetes.io/"
#: What kube-scheduler reads of annotations: the category of the value, or None to keep it.
_ANNOTATIONS: Final = {
    "pv.kubernetes.io/bind-completed": None,
    "pv.kubernetes.io/bound-by-controller": None,
    "volume.kubernetes.io/selected-node": "node",
    "volume.beta.kubernetes.io/storage-class": "storageclass",
    "storage.alpha.kubernetes.io/migrated-plugins": None,
    "resource.kubernetes.io/extended-resource-claim": None,
    "preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority": None,
    "preemption-toleration.scheduling.x-k8s.io/toleration-seconds": None,
}
#: Field, or parent.field where the field alone could be several things → the category of its text or texts.
_NAMES: Final = {
    "uid": "uid",
    "nodeName": "node",
    "nominatedNodeName": "node",
    "namespace": "namespace",
    "namespaces": "namespace",
    "priorityClassName": "priorityclass",
    "storageClassName": "storageclass",
    "volumeAttributesClassName": "volumeattributesclass",
    "currentVolumeAttributesClassName": "volumeattributesclass",
    "runtimeClassName": "runtimeclass",
    "volumeName": "persistentvolume",
    "persistentVolumeName": "persistentvolume",
    "resourceClaimName": "resourceclaim",
    "resourceClaimTemplateName": "resourceclaimtemplate",
    "deviceClassName": "deviceclass",
    "podGroupName": "podgroup",
    "serviceName": "service",
    "occupiedBy": "value",
    "hostIP": "ip",
    "pdName": "disk",
    "diskName": "disk",
    "diskURI": "disk",
    "volumePath": "disk",
    "volumeHandle": "disk",
    "shareName": "disk",
    "storagePolicyName": "value",
    "targetPortal": "value",
    "iqn": "disk",
    "monitors": "value",
    "rbd.image": "disk",
    "rbd.pool": "value",
    "local.path": "value",
    "containers.name": "container",
    "containers.image": "image",
    "initContainers.name": "container",
    "initContainers.image": "image",
    "containerStatuses.name": "container",
    "initContainerStatuses.name": "container",
    "nodeAllocatableResourceClaimStatuses.containers": "container",
    "containerName": "container",
    "image.reference": "image",
    "images.names": "image",
    "volumes.name": "volume",
    "schedulingGates.name": "gate",
    "resourceClaims.name": "podclaim",
    "claims.name": "podclaim",
    "resourceClaimStatuses.name": "podclaim",
    "reservedFor.name": "pod",
    "pool.name": "pool",
    "results.pool": "pool",
    "results.device": "device",
    "devices.pool": "pool",
    "devices.device": "device",
    "devices.name": "device",
    "deviceSelector.pool": "pool",
    "deviceSelector.device": "device",
}
#: Kinds that everybody has; the rest are somebody's own.
_KNOWN_GROUPS: Final = ("v1", "apps/", "batch/", "policy/", "scheduling.", "storage.k8s.io/", "resource.k8s.io/")
_LABEL_KEYS: Final = frozenset({"topologyKey", "topologyKeys", "matchLabelKeys", "mismatchLabelKeys"})
_LABEL_MAPS: Final = frozenset({"labels", "matchLabels", "nodeSelector"})
_EXPRESSIONS: Final = frozenset({"matchExpressions", "matchLabelExpressions", "matchFields"})
_AMOUNTS: Final = frozenset(
    {
        "requests",
        "limits",
        "allocatable",
        "capacity",
        "overhead",
        "minResources",
        "min",
        "max",
        "used",
        "allocatedResources",
        "nodeAllocatableResourceClaimStatuses.resources",
    }
)
#: Named in CEL, or by drivers: kept with all that is below.
_KEPT_FIELDS: Final = frozenset(
    {"exactly.capacity", "firstAvailable.capacity", "devices.capacity", "consumedCapacity", "consumesCounters"}
    | {"attributes", "sharedCounters", "selectors"}
)
_NUMERIC: Final = frozenset({"Gt", "Lt"})


def anonymized(items: Iterable[Mapped]) -> tuple[list[Mapped], Renaming]:
    """*items* under other names, in the same order."""
    items = list(items)
    anonymizer = Anonymizer(_numeric_keys(items))
    for item in items:
        anonymizer.rename(item)
    anonymizer.number()
    return [anonymizer.rename(item) for item in items], anonymizer.renaming


class Anonymizer:
    """Walks objects twice: to collect the names, and to replace them."""

    def __init__(self, numeric_keys: frozenset[str]) -> None:
        #: Keys whose values are compared as numbers.
        self._numeric_keys = numeric_keys
        self.renaming = Renaming()
        #: Namespace, pod and volume of the claims that are called after a pod and its volume.
        self._ephemeral: set[tuple[str, str, str]] = set()
        self._namespace = ""
        self._kind = ""

    def rename(self, item: Mapped) -> Mapped:
        metadata = item.get("metadata") or {}
        self._kind, self._namespace = str(item.get("kind", "")), str(metadata.get("namespace") or "")
        if self._kind == "Pod":
            for volume in (item.get("spec") or {}).get("volumes") or ():
                if "ephemeral" in volume:
                    self._ephemeral.add((self._namespace, metadata["name"], volume["name"]))
        renamed = self._mapping(item, "")
        renamed["metadata"]["name"] = self._object_name(self._kind, metadata["name"], self._namespace)
        return renamed

    def number(self) -> None:
        self.renaming.number()
        for namespace, pod, volume in self._ephemeral:
            new = f"{self.renaming('pod', pod)}-{self.renaming('volume', volume)}"
            self.renaming.set("persistentvolumeclaim", f"{namespace}/{pod}-{volume}", new)

    def _object_name(self, kind: str, name: str, namespace: str) -> str:
        if kind == "CSIDriver":
            return name
        if kind == "CSINode":
            return self.renaming("node", name)
        if kind == "PersistentVolumeClaim":
            return self.renaming("persistentvolumeclaim", f"{namespace}/{name}")
        return self.renaming(kind.lower(), name)

    # --- the walk -----------------------------------------------------------------------------------------

    def _mapping(self, mapping: Mapped, parent: str) -> Mapped:
        return {field: self._field(value, field, parent) for field, value in mapping.items()}

    def _field(self, value: Any, field: str, parent: str) -> Any:
        path = f"{parent}.{field}"
        if path in _KEPT_FIELDS or field in _KEPT_FIELDS:
            return value
        category = _NAMES.get(path) or _NAMES.get(field)
        if category is not None and isinstance(value, str | list) and _is_text(value):
            return self._texts(value, lambda text: self._name(category, text))
        special = self._special(field, path)
        if special is not None:
            return special(value)
        if isinstance(value, dict):
            return self._mapping(value, field)
        if isinstance(value, list):
            return [self._mapping(each, field) if isinstance(each, dict) else each for each in value]
        return value

    def _special(self, field: str, path: str) -> Callable[[Any], Any] | None:
        """What a field is if it is not one name or several."""
        if field in _LABEL_KEYS:
            return lambda value: self._texts(value, self._key)
        if field in _LABEL_MAPS or (
            path == "spec.selector" and self._kind in ("Service", "ReplicationController")
        ):
            return self._labels
        if field in _EXPRESSIONS:
            return lambda value: [self._expression(each, field) for each in value]
        if field in _AMOUNTS or path in _AMOUNTS:
            return self._amounts
        others: dict[str, Callable[[Any], Any]] = {
            "annotations": self._annotations,
            "ownerReferences": lambda value: [self._owner(each) for each in value],
            "claimRef": self._claim_reference,
            "claimName": lambda value: self._object_name("PersistentVolumeClaim", value, self._namespace),
            "tolerations": lambda value: [self._taint(each) for each in value],
            "taints": lambda value: [self._taint(each) for each in value],
            "taint": self._taint,
            "volumeID": self._volume_id,
            "disruptedPods": lambda value: {self.renaming("pod", name): time for name, time in value.items()},
            "extendedResourceName": self._resource,
            "resourceName": self._resource,
        }
        return others.get(field)

    def _texts(self, value: Any, rename: Callable[[str], str]) -> Any:
        return [rename(each) for each in value] if isinstance(value, list) else rename(value)

    def _name(self, category: str, text: str) -> str:
        if category == "image" and text.rfind(":") <= text.rfind("/"):
            text = f"{text}:latest"  # the same image as with the tag
        return self.renaming(category, text)

    # --- labels -------------------------------------------------------------------------------------------

    def _key(self, key: str) -> str:
        if key in _KEPT_KEYS or key.startswith(_KEPT_PREFIXES):
            return key
        return self.renaming("label", key)

    def _value(self, key: str, value: str) -> str:
        if key in _KEPT_VALUES or (key in self._numeric_keys and _is_number(value)):
            return value
        category = _NAMING_KEYS.get(key, "value")
        # The zones of a volume are divided like this.
        return "__".join(self.renaming(category, part) for part in value.split("__"))

    def _labels(self, labels: Mapped) -> Mapped:
        if isinstance(labels.get("nodeSelectorTerms"), list):  # the nodeSelector of devices, not that of a pod
            return self._mapping(labels, "nodeSelector")
        return {self._key(key): self._value(key, str(value)) for key, value in labels.items()}

    def _expression(self, expression: Mapped, field: str) -> Mapped:
        key = expression.get("key", "")
        if field == "matchFields":  # metadata.name, of nodes
            return {**expression, "values": [self.renaming("node", each) for each in expression.get("values", ())]}
        renamed = {**expression, "key": self._key(key)}
        if "values" in expression:
            renamed["values"] = [self._value(key, each) for each in expression["values"]]
        return renamed

    def _taint(self, taint: Mapped) -> Mapped:
        """A taint, or a toleration of one."""
        renamed = dict(taint)
        key = taint.get("key", "")
        if key:
            renamed["key"] = self._key(key)
        if taint.get("value"):
            renamed["value"] = self._value(key, taint["value"])
        return renamed

    # --- the rest -----------------------------------------------------------------------------------------

    def _annotations(self, annotations: Mapped) -> Mapped:
        kept = {}
        for key, value in annotations.items():
            if key in _ANNOTATIONS:
                category = _ANNOTATIONS[key]
                kept[key] = value if category is None else self.renaming(category, value)
        return kept

    def _owner(self, owner: Mapped) -> Mapped:
        kind, version = str(owner.get("kind", "")), str(owner.get("apiVersion", ""))
        renamed = {**owner, "name": self._object_name(kind, owner.get("name", ""), self._namespace)}
        if owner.get("uid"):
            renamed["uid"] = self.renaming("uid", owner["uid"])
        if not version.startswith(_KNOWN_GROUPS):
            renamed |= {"apiVersion": "example.com/v1", "kind": self.renaming("kind", kind)}
            renamed["name"] = self.renaming("owner", f"{kind}/{owner.get('name', '')}")
        return renamed

    def _claim_reference(self, reference: Mapped) -> Mapped:
        namespace = str(reference.get("namespace", ""))
        renamed = self._mapping(reference, "claimRef")
        return {**renamed, "name": self._object_name("PersistentVolumeClaim", reference["name"], namespace)}

    def _volume_id(self, value: str) -> str:
        """AWS writes a zone and a disk: aws://zone/vol-1."""
        scheme, divider, rest = value.partition("://")
        if not divider:
            return self.renaming("disk", value)
        zone, _, disk = rest.rpartition("/")
        return f"{scheme}://{self.renaming('value', zone)}/{self.renaming('disk', disk)}"

    def _amounts(self, value: Any) -> Any:
        if isinstance(value, list):  # the requests of a claim
            return [self._mapping(each, "requests") if isinstance(each, dict) else each for each in value]
        if not isinstance(value, dict):
            return value
        return {self._resource(name): amount for name, amount in value.items()}

    def _resource(self, name: str) -> str:
        if name.startswith(_IMPLICIT_CLASS):
            return _IMPLICIT_CLASS + self.renaming("deviceclass", name.removeprefix(_IMPLICIT_CLASS))
        if is_native_resource(name) or name.startswith(_KNOWN_VENDORS):
            return name
        return self.renaming("resource", name)


def _is_text(value: str | list[Any]) -> bool:
    return isinstance(value, str) or all(isinstance(each, str) for each in value)


def _is_number(value: str) -> bool:
    return value.removeprefix("-").isdecimal()


def _numeric_keys(items: Iterable[Mapped]) -> frozenset[str]:
    return frozenset(key for item in items for key in _compared(item))


def _compared(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        if part.get("operator") in _NUMERIC and part.get("key"):
            yield str(part["key"])
        for each in part.values():
            yield from _compared(each)
    elif isinstance(part, list):
        for each in part:
            yield from _compared(each)
