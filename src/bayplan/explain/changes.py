"""Changes as data: how to get from an object to an edited one through the API.

In: an object as the API shows it, before and after. Out: a `SuggestedChange` that can be applied as it stands.
What the server sets is left out of manifests, and so are environment variables: nobody should read those here.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Final

from bayplan.explain.explanation import ChangedObject, SuggestedChange

#: Set by the server, or by its admission: a new object must not have it.
_SERVER_METADATA: Final = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
)
#: kubectl apply writes the whole object here, environment variables included.
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_CONTAINER_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_ENVIRONMENT: Final = ("env", "envFrom")
#: The volume with the token of the service account, which admission adds to every new pod.
_TOKEN_VOLUME: Final = "kube-api-access-"  # noqa: S105
#: The parts of a pod's spec that may change after its creation: tolerations may be added, gates removed.
_MUTABLE: Final = frozenset({"tolerations", "schedulingGates"})


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON merge patch from *old* to *new*."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            if nested := merge_patch(before, value):
                patch[key] = nested
        elif key not in old or before != value:
            patch[key] = value
    return patch


def with_patch(old: Any, patch: Any) -> Any:
    """*old* with a JSON merge patch applied."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(old) if isinstance(old, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = with_patch(result.get(key), value)
    return result


def reference(mapping: Mapping[str, Any]) -> ChangedObject:
    metadata = mapping.get("metadata") or {}
    return ChangedObject(
        api_version=str(mapping.get("apiVersion", "")),
        kind=str(mapping.get("kind", "")),
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
    )


def patched(old: Mapping[str, Any], new: Mapping[str, Any]) -> SuggestedChange:
    return SuggestedChange(verb="patch", object=reference(old), patch=merge_patch(old, new))


def deleted(old: Mapping[str, Any]) -> SuggestedChange:
    return SuggestedChange(verb="delete", object=reference(old))


def created(manifest: Mapping[str, Any]) -> SuggestedChange:
    return SuggestedChange(verb="create", object=reference(manifest), manifest=dict(manifest))


def changed_pod(old: Mapping[str, Any], new: Mapping[str, Any]) -> SuggestedChange:
    """A patch where the API allows one, else a replacement: the spec of a pod is immutable."""
    patch = merge_patch(old, new)
    if patch.keys() <= {"spec", "metadata"} and patch.get("spec", {}).keys() <= _MUTABLE:
        return SuggestedChange(verb="patch", object=reference(old), patch=patch)
    manifest = without_server_fields(new)
    omitted = tuple(omit_environment(manifest["spec"]))
    return SuggestedChange(verb="replace", object=reference(old), manifest=manifest, omitted=omitted)


def without_server_fields(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of *mapping* that can be created anew."""
    manifest = copy.deepcopy({key: value for key, value in mapping.items() if key != "status"})
    for field in _SERVER_METADATA:
        manifest["metadata"].pop(field, None)
    if manifest["metadata"].get("annotations"):
        manifest["metadata"]["annotations"].pop(_LAST_APPLIED, None)
    spec = manifest.get("spec")
    if manifest.get("kind") == "Pod" and isinstance(spec, dict):
        spec.pop("nodeName", None)
        _drop_token_volume(spec)
    return manifest


def _drop_token_volume(spec: dict[str, Any]) -> None:
    if not any(_is_token(volume) for volume in spec.get("volumes") or ()):
        return
    spec["volumes"] = [volume for volume in spec["volumes"] if not _is_token(volume)]
    for container in _containers(spec):
        if "volumeMounts" in container:
            container["volumeMounts"] = [each for each in container["volumeMounts"] if not _is_token(each)]


def _is_token(named: Mapping[str, Any]) -> bool:
    return str(named.get("name", "")).startswith(_TOKEN_VOLUME)


def omit_environment(spec: dict[str, Any]) -> Iterator[str]:
    """Remove the environment of every container; yields the paths of what was removed."""
    for field in _CONTAINER_LISTS:
        for number, container in enumerate(spec.get(field) or ()):
            for name in _ENVIRONMENT:
                if container.pop(name, None):
                    yield f"spec.{field}[{number}].{name}"


def _containers(spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for field in _CONTAINER_LISTS:
        yield from spec.get(field) or ()
