"""Namespaces that are being deleted: deletes everything in them, then finalizes them."""

from __future__ import annotations

from typing import Final

from bayplan.client import NotFoundError
from bayplan.controllers.api_objects import Object, is_being_deleted, path_of
from bayplan.controllers.controller import Controller
from bayplan.controllers.served_kinds import served_kinds

FINALIZER: Final = "kubernetes"
#: How soon a namespace that is not empty yet is reconciled again.
AGAIN_SECONDS: Final = 0.5


class NamespaceController(Controller):
    """See the module docstring."""

    name = "namespace-controller"

    def watch(self) -> None:
        self._namespaces = self.objects("v1", "namespaces")

    async def reconcile(self, key: str) -> float | None:
        namespace = self._namespaces.get(key)
        if namespace is None or not is_being_deleted(namespace):
            return None
        left = 0
        for kind in (await served_kinds(self.client)).with_verbs("list", "delete"):
            if kind.namespaced:
                left += await self._empty(kind.path(key))
        if left:
            return AGAIN_SECONDS
        await self._finalize(namespace)
        return None

    async def _empty(self, path: str) -> int:
        """Delete the contents; returns how many objects are left."""
        listed = await self.client.request("GET", path)
        items: list[Object] = listed.get("items") or []
        for item in items:
            if not is_being_deleted(item):
                await self._delete(f"{path}/{item['metadata']['name']}")
        if not items:
            return 0
        return len((await self.client.request("GET", path)).get("items") or [])

    async def _delete(self, path: str) -> None:
        try:
            await self.client.request("DELETE", path, {"propagationPolicy": "Background"})
        except NotFoundError:
            return

    async def _finalize(self, namespace: Object) -> None:
        name = namespace["metadata"]["name"]
        finalizers = [each for each in namespace["spec"].get("finalizers") or [] if each != FINALIZER]
        body = {"apiVersion": "v1", "kind": "Namespace", **namespace, "spec": {"finalizers": finalizers}}
        try:
            await self.client.request("PUT", path_of("v1", "namespaces", "", name, "finalize"), body)
        except NotFoundError:
            return
