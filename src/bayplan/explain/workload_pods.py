"""From a workload of a manifest to its pods, as its controller and the API server would make them."""

from __future__ import annotations

import copy
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from bayplan.explain.object_files import ObjectFileError
from bayplan.model import (
    KINDS,
    KubeObject,
    ObjectError,
    PersistentVolumeClaim,
    Pod,
    PriorityClass,
    StorageClass,
)

#: Kind → the field with the number of its pods.
_REPLICAS: Final = {
    "Deployment": "replicas",
    "ReplicaSet": "replicas",
    "ReplicationController": "replicas",
    "StatefulSet": "replicas",
    "Job": "parallelism",
}
WORKLOADS: Final = ("Pod", *_REPLICAS)
_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


class Workload(NamedTuple):
    """A workload of a manifest."""

    manifest: Mapping[str, Any]
    pods: tuple[Pod, ...]
    #: Objects that its controller creates besides pods.
    claims: tuple[KubeObject, ...] = ()


class AdmissionDefaults(NamedTuple):
    """What the admission of an API server sets in new objects, as far as a scheduler reads it."""

    priorities: Mapping[str, PriorityClass] = {}
    #: Of claims that name none.
    storage_class: str = ""

    @classmethod
    def of(cls, objects: Iterable[KubeObject]) -> AdmissionDefaults:
        objects = list(objects)
        priorities = {each.name: each for each in objects if isinstance(each, PriorityClass)}
        classes = [
            each
            for each in objects
            if isinstance(each, StorageClass)
            and any(each.annotations.get(key) == "true" for key in _DEFAULT_CLASS)
        ]
        # Of several the newest, and of those the first by name.
        classes.sort(key=lambda each: each.name)
        classes.sort(key=lambda each: each.metadata.creation_timestamp or "", reverse=True)
        return cls(priorities, classes[0].name if classes else "")

    def in_claim(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.storage_class and spec.get("storageClassName") is None:
            return {**spec, "storageClassName": self.storage_class}
        return spec


def workload_name(manifest: Mapping[str, Any]) -> str:
    metadata = manifest.get("metadata") or {}
    return str(metadata.get("name") or metadata.get("generateName") or "unnamed").rstrip("-")


def is_workload(manifest: Mapping[str, Any]) -> bool:
    return manifest.get("kind") in WORKLOADS


def other_object(manifest: Mapping[str, Any], namespace: str, defaults: AdmissionDefaults) -> KubeObject | None:
    """An object that the workloads of the same file may need (a PodGroup, a claim); None if none reads it."""
    known = KINDS.get((str(manifest.get("apiVersion", "")), str(manifest.get("kind", ""))))
    if known is None or is_workload(manifest):
        return None
    if known.type is PersistentVolumeClaim:
        manifest = {**manifest, "spec": defaults.in_claim(manifest.get("spec") or {})}
    try:
        return known.type.from_dict(_named(manifest, namespace if known.namespaced else ""))
    except ObjectError as error:
        raise ObjectFileError(str(error)) from error


def workload_of(
    manifest: Mapping[str, Any],
    namespace: str,
    defaults: AdmissionDefaults,
    *,
    names: Container[str] = (),
) -> Workload:
    """The pods of *manifest* in *namespace*, unless it names another one. Raises ObjectFileError.

    *names*: of workloads whose pods must not be mistaken for these.
    """
    kind, name = str(manifest["kind"]), workload_name(manifest)
    namespace = str((manifest.get("metadata") or {}).get("namespace") or namespace)
    spec = manifest.get("spec")
    if not isinstance(spec, Mapping):
        raise ObjectFileError(f"{kind} {name}: it has no spec")
    if kind == "Pod":
        return Workload(manifest, (_pod(manifest, name, namespace, defaults.priorities),))
    template = spec.get("template")
    if not isinstance(template, Mapping) or not isinstance(template.get("spec"), Mapping):
        raise ObjectFileError(f"{kind} {name}: it has no spec.template.spec")
    field = _REPLICAS[kind]
    n_pods = spec.get(field, 1)
    if not isinstance(n_pods, int) or n_pods < 0:
        raise ObjectFileError(f"{kind} {name}: spec.{field} is {n_pods!r}; a number of pods is expected")
    if kind == "Job" and isinstance(spec.get("completions"), int):
        n_pods = min(n_pods, spec["completions"])
    prefix = f"{name}-{kind.lower()}" if name in names else name
    pods = tuple(
        _pod(_owned(template, manifest, number), f"{prefix}-{number}", namespace, defaults.priorities)
        for number in range(n_pods)
    )
    claims = tuple(_claims(spec, name, namespace, n_pods, defaults)) if kind == "StatefulSet" else ()
    return Workload(manifest, pods, claims)


def _named(manifest: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    metadata = {"uid": f"new/{namespace}/{workload_name(manifest)}", **(manifest.get("metadata") or {})}
    if namespace:
        metadata.setdefault("namespace", namespace)
    return {**manifest, "metadata": metadata}


def _owned(template: Mapping[str, Any], owner: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The template with its owner, by whose selector the pods are spread; volumes of claim templates by name."""
    reference = {
        "apiVersion": owner.get("apiVersion"),
        "kind": owner["kind"],
        "name": workload_name(owner),
        "uid": f"new/{workload_name(owner)}",
        "controller": True,
    }
    made = copy.deepcopy(dict(template))
    made["metadata"] = {**(made.get("metadata") or {}), "ownerReferences": [reference]}
    for claim in (owner["spec"].get("volumeClaimTemplates") or ()) if owner["kind"] == "StatefulSet" else ():
        name = claim["metadata"]["name"]
        volume = {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{workload_name(owner)}-{number}"}}
        made["spec"].setdefault("volumes", []).append(volume)
    return made


def _claims(
    spec: Mapping[str, Any], name: str, namespace: str, n_pods: int, defaults: AdmissionDefaults
) -> Iterator[KubeObject]:
    for template in spec.get("volumeClaimTemplates") or ():
        for number in range(n_pods):
            own = f"{template['metadata']['name']}-{name}-{number}"
            metadata = {"name": own, "namespace": namespace, "uid": f"new/{namespace}/{own}"}
            yield PersistentVolumeClaim.from_dict(
                {"metadata": metadata, "spec": defaults.in_claim(template.get("spec") or {})}
            )


def _pod(manifest: Mapping[str, Any], name: str, namespace: str, priorities: Mapping[str, PriorityClass]) -> Pod:
    made = copy.deepcopy({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": manifest["spec"]})
    metadata = dict(manifest.get("metadata") or {})
    made["metadata"] = {**metadata, "name": name, "namespace": namespace, "uid": f"new/{namespace}/{name}"}
    _set_defaults(made["spec"], priorities)
    try:
        return Pod.from_dict(made)
    except ObjectError as error:
        raise ObjectFileError(str(error)) from error


def _set_defaults(spec: dict[str, Any], priorities: Mapping[str, PriorityClass]) -> None:
    """What the API server and its admission add, as far as a scheduler reads it."""
    spec.setdefault("schedulerName", "default-scheduler")
    if spec.get("priority") is None:
        chosen = priorities.get(str(spec.get("priorityClassName") or ""))
        if chosen is None and not spec.get("priorityClassName"):
            chosen = next((each for each in priorities.values() if each.global_default), None)
        if chosen is not None:
            spec["priority"] = chosen.value
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        if resources.get("limits"):
            container["resources"] = {
                **resources,
                "requests": {**resources["limits"], **(resources.get("requests") or {})},
            }
        for port in container.get("ports") or ():
            if spec.get("hostNetwork"):
                port.setdefault("hostPort", port.get("containerPort"))
