"""The workload that made a pod: its template has to change, or the next pod is like the last."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bayplan.explain.changes import merge_patch, omit_environment, reference, without_server_fields
from bayplan.explain.explanation import SuggestedChange
from bayplan.explain.remedy import Edit, NotPossibleError
from bayplan.model import KINDS, OwnerReference, Pod

if TYPE_CHECKING:
    from bayplan.explain.cluster_objects import ClusterObjects

#: Kinds whose template cannot be changed after their creation.
_IMMUTABLE: Final = ("Job",)
_CONTAINER_LISTS: Final = ("containers", "initContainers")


def owner_of(objects: ClusterObjects, pod: Pod) -> Mapping[str, Any] | None:
    """The topmost workload with a template that controls *pod*; None if it is not known."""
    controller = pod.controller
    owner: Mapping[str, Any] | None = None
    while controller is not None:
        owner = _find(objects, controller, pod.namespace)
        if owner is None:
            return None
        references = (owner.get("metadata") or {}).get("ownerReferences") or ()
        above = next((each for each in references if each.get("controller")), None)
        controller = None if above is None else _reference(above)
    return owner if owner is not None and _template(owner) is not None else None


def _reference(raw: Mapping[str, Any]) -> OwnerReference:
    return OwnerReference(
        api_version=str(raw.get("apiVersion", "")), kind=str(raw.get("kind", "")), name=str(raw.get("name", ""))
    )


def _find(objects: ClusterObjects, controller: OwnerReference, namespace: str) -> Mapping[str, Any] | None:
    key, identity = f"{namespace}/{controller.name}", (controller.api_version, controller.kind)
    known = KINDS.get(identity)
    if known is not None:
        found = objects.others.get(known.type, {}).get(key)
        return None if found is None else {"apiVersion": identity[0], "kind": identity[1], **found.raw}
    return objects.unknown.get(identity, {}).get(key)


def missing_owner(objects: ClusterObjects, pod: Pod) -> OwnerReference | None:
    """The first owner, going up from *pod*, that is not among *objects*."""
    controller = pod.controller
    while controller is not None:
        owner = _find(objects, controller, pod.namespace)
        if owner is None:
            return controller
        references = (owner.get("metadata") or {}).get("ownerReferences") or ()
        above = next((each for each in references if each.get("controller")), None)
        controller = None if above is None else _reference(above)
    return None


def _template(owner: Mapping[str, Any]) -> Mapping[str, Any] | None:
    template = (owner.get("spec") or {}).get("template")
    return template if isinstance(template, Mapping) and isinstance(template.get("spec"), Mapping) else None


def changed_template(owner: Mapping[str, Any], edits: Sequence[Edit]) -> SuggestedChange | None:
    """The change of the workload that makes its pods as *edits* want them; None if its template does not allow
    them, or a patch would have to show environment variables."""
    edited = copy.deepcopy(dict(owner))
    template = edited["spec"]["template"]
    template.setdefault("metadata", {})
    try:
        for edit in edits:
            edit(template)
    except (KeyError, IndexError, NotPossibleError):
        return None
    if owner["kind"] in _IMMUTABLE:
        manifest = without_server_fields(edited)
        _drop_generated(manifest)
        omitted = tuple(f"spec.template.{path}" for path in omit_environment(manifest["spec"]["template"]["spec"]))
        return SuggestedChange(verb="replace", object=reference(owner), manifest=manifest, omitted=omitted)
    patch = merge_patch(owner, edited)
    changed = patch.get("spec", {}).get("template", {}).get("spec", {})
    for field in _CONTAINER_LISTS:
        if any("env" in each or "envFrom" in each for each in changed.get(field) or ()):
            return None
    return SuggestedChange(verb="patch", object=reference(owner), patch=patch)


def _drop_generated(job: dict[str, Any]) -> None:
    """What the API server generates for a Job: its selector, and the labels for it."""
    if not job["spec"].get("manualSelector"):
        job["spec"].pop("selector", None)
        labels = job["spec"]["template"]["metadata"].get("labels") or {}
        for key in ("controller-uid", "batch.kubernetes.io/controller-uid"):
            labels.pop(key, None)
