"""Namespaces: deleted in two steps, and labelled with their name."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.validation.field_errors import invalid
from bayplan.apiserver.validation.name_validation import label_errors

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"


class NamespaceStrategy(RestStrategy):
    """core/v1 Namespace."""

    has_status = True
    returns_deleted = True
    is_terminated_first = True
    selectable_fields = ("status.phase", "name")
    selects_namespace = False

    def name_errors(self, name: str, *, prefix: bool) -> list[str]:
        return label_errors(name, prefix=prefix)

    def default(self, obj: Object) -> None:
        metadata = obj["metadata"]
        if metadata.get("name"):
            metadata.setdefault("labels", {})[NAME_LABEL] = metadata["name"]
        obj.setdefault("status", {}).setdefault("phase", "Active")

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Active"}
        finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
        if FINALIZER not in finalizers:
            finalizers.append(FINALIZER)
        # The name may have been generated after defaulting.
        obj["metadata"].setdefault("labels", {})[NAME_LABEL] = obj["metadata"].get("name", "")

    def prepare_update(self, new: Object, old: Object) -> None:
        new["spec"] = {**new.get("spec", {}), "finalizers": old.get("spec", {}).get("finalizers", [])}
        new["status"] = old.get("status", {})

    def prepare_delete(self, obj: Object) -> None:
        obj.setdefault("status", {})["phase"] = "Terminating"

    def holds_deletion(self, obj: Object) -> bool:
        return bool(obj.get("spec", {}).get("finalizers") or obj["metadata"].get("finalizers"))

    def validate(self, obj: Object) -> list[StatusCause]:
        return []

    def validate_status_update(self, new: Object, old: Object) -> list[StatusCause]:
        phase, deleted = new.get("status", {}).get("phase"), "deletionTimestamp" in new["metadata"]
        if deleted and phase != "Terminating":
            text = "may only be 'Terminating' if `deletionTimestamp` is not empty"
            return [invalid("status.Phase", phase, text)]
        if not deleted and phase != "Active":
            return [invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")]
        return []

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {"status.phase": obj.get("status", {}).get("phase", ""), "name": obj["metadata"].get("name", "")}
