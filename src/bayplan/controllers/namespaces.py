"""Namespaces that are being deleted: deletes everything in them, then finalizes them."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from datetime import UTC, datetime
from typing import Final

from bayplan.client import ApiError, ConflictError, NotFoundError
from bayplan.controllers.api_objects import Object, is_being_deleted, path_of, set_condition
from bayplan.controllers.controller import Controller
from bayplan.controllers.served_kinds import ServedKind, served_kinds
from bayplan.model.times import format_time

FINALIZER: Final = "kubernetes"
#: How soon a namespace that is not empty yet is reconciled again.
AGAIN_SECONDS: Final = 0.5


class Remains:
    """What is left in a namespace, and what went wrong."""

    def __init__(self) -> None:
        #: `pods.`, `deployments.apps` → how many.
        self.objects: Counter[str] = Counter()
        self.finalizers: Counter[str] = Counter()
        self.errors: list[str] = []

    def add(self, kind: ServedKind, items: list[Object]) -> None:
        if items:
            self.objects[f"{kind.plural}.{kind.group}"] += len(items)
        for item in items:
            self.finalizers.update(item["metadata"].get("finalizers") or ())

    def conditions(self) -> list[tuple[str, bool, str, str]]:
        """Type, status, reason and message in kube-controller-manager's words."""
        content, remaining, finalizers = self.errors, _listed(self.objects), _listed(self.finalizers)
        failed = f"Failed to delete all resource types, {len(content)} remaining: {', '.join(content)}"
        deleted = "All content successfully deleted, may be waiting on finalization"
        some = ", ".join(f"{name} has {count} resource instances" for name, count in remaining)
        held = ", ".join(f"{name} in {count} resource instances" for name, count in finalizers)
        discovered = "All resources successfully discovered"
        parsed = "All legacy kube types successfully parsed"
        return [
            ("NamespaceDeletionDiscoveryFailure", False, "ResourcesDiscovered", discovered),
            ("NamespaceDeletionGroupVersionParsingFailure", False, "ParsedGroupVersions", parsed),
            ("NamespaceDeletionContentFailure", True, "ContentDeletionFailed", failed)
            if content
            else ("NamespaceDeletionContentFailure", False, "ContentDeleted", deleted),
            ("NamespaceContentRemaining", True, "SomeResourcesRemain", f"Some resources are remaining: {some}")
            if remaining
            else ("NamespaceContentRemaining", False, "ContentRemoved", "All content successfully removed"),
            (
                "NamespaceFinalizersRemaining",
                True,
                "SomeFinalizersRemain",
                f"Some content in the namespace has finalizers remaining: {held}",
            )
            if finalizers
            else (
                "NamespaceFinalizersRemaining",
                False,
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            ),
        ]


def _listed(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items())


class NamespaceController(Controller):
    """See the module docstring."""

    name = "namespace-controller"

    def watch(self) -> None:
        self._namespaces = self.objects("v1", "namespaces")

    async def reconcile(self, key: str) -> float | None:
        namespace = self._namespaces.get(key)
        if namespace is None or not is_being_deleted(namespace):
            return None
        remains = Remains()
        for kind in (await served_kinds(self.client)).with_verbs("list", "delete"):
            if kind.namespaced:
                await self._empty(kind, key, remains)
        if remains.objects or remains.errors:
            await self._update_status(namespace, remains)
            return AGAIN_SECONDS
        await self._finalize(namespace)
        return None

    async def _empty(self, kind: ServedKind, namespace: str, remains: Remains) -> None:
        """Delete the contents, and count what stays."""
        path = kind.path(namespace)
        try:
            items: list[Object] = (await self.client.request("GET", path)).get("items") or []
        except NotFoundError:
            return  # Its definition has just gone.
        for item in items:
            if not is_being_deleted(item):
                await self._delete(f"{path}/{item['metadata']['name']}", remains)
        if items:
            remains.add(kind, (await self.client.request("GET", path)).get("items") or [])

    async def _delete(self, path: str, remains: Remains) -> None:
        try:
            await self.client.request("DELETE", path, {"propagationPolicy": "Background"})
        except NotFoundError:
            return
        except ApiError as error:
            remains.errors.append(str(error))

    async def _update_status(self, namespace: Object, remains: Remains) -> None:
        now = format_time(datetime.fromtimestamp(self.clock.now(), UTC))
        known = (namespace.get("status") or {}).get("conditions") or []
        conditions = deepcopy(known)
        for type, holds, reason, message in remains.conditions():
            condition = {"type": type, "status": "True" if holds else "False", "lastTransitionTime": now}
            set_condition(conditions, {**condition, "reason": reason, "message": message})
        if conditions == known:
            return
        path = path_of("v1", "namespaces", "", namespace["metadata"]["name"], "status")
        try:
            await self.client.request("PATCH", path, {"status": {"conditions": conditions}})
        except (NotFoundError, ConflictError):
            return

    async def _finalize(self, namespace: Object) -> None:
        name = namespace["metadata"]["name"]
        finalizers = [each for each in namespace["spec"].get("finalizers") or [] if each != FINALIZER]
        body = {"apiVersion": "v1", "kind": "Namespace", **namespace, "spec": {"finalizers": finalizers}}
        # The conditions are newer in the store, and nothing else changes it now.
        body["metadata"] = {key: value for key, value in namespace["metadata"].items() if key != "resourceVersion"}
        try:
            await self.client.request("PUT", path_of("v1", "namespaces", "", name, "finalize"), body)
        except NotFoundError:
            return
