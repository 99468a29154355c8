"""Namespaces that are being deleted: everything in them goes, then they do."""

from __future__ import annotations

from typing import Final

from bayplan.client import NotFoundError
from bayplan.controllers.controller import Controller
from bayplan.controllers.objects import Object, is_being_deleted, path_of

FINALIZER: Final = "kubernetes"
#: How soon a namespace that is not empty yet is looked at again.
AGAIN_SECONDS: Final = 0.5


class Namespaces(Controller):
    """See the module's text."""

    name = "namespace-controller"

    def watch(self) -> None:
        self._namespaces = self.objects("v1", "namespaces")

    async def reconcile(self, key: str) -> float | None:
        namespace = self._namespaces.get(key)
        if namespace is None or not is_being_deleted(namespace):
            return None
        left = 0
        for api_version, plural in await self._namespaced():
            left += await self._empty(api_version, plural, key)
        if left:
            return AGAIN_SECONDS
        await self._finalize(namespace)
        return None

    async def _namespaced(self) -> list[tuple[str, str]]:
        """Every namespaced kind that can be listed and deleted, as discovery tells."""
        found = await self._of_version("v1")
        groups = await self.client.request("GET", "/apis")
        for group in groups.get("groups") or []:
            found += await self._of_version(group["preferredVersion"]["groupVersion"])
        return found

    async def _of_version(self, api_version: str) -> list[tuple[str, str]]:
        root = "apis" if "/" in api_version else "api"
        answer = await self.client.request("GET", f"/{root}/{api_version}")
        return [
            (api_version, resource["name"])
            for resource in answer.get("resources") or []
            if resource["namespaced"] and {"list", "delete"} <= set(resource["verbs"])
        ]

    async def _empty(self, api_version: str, plural: str, namespace: str) -> int:
        """Delete what is there; how much is left."""
        path = path_of(api_version, plural, namespace)
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
