"""TypedRequests: get, list, create, patch and delete for any kind, on top of `request`. See `framework.Client`.

Objects of a kind of `bayplan.model` are typed; those of a resource that is given by name are dictionaries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayplan.client.errors import NotFoundError
from bayplan.model import KubeObject

if TYPE_CHECKING:
    from bayplan.framework.object_selection import ObjectSelection

#: Objects per page of a list, as in client-go.
_PAGE = 500


class TypedRequests:
    """For a class with a `request`."""

    async def request(
        self,
        method: str,
        path: str,
        body: object | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str | None = None,
        repeatable: bool | None = None,
    ) -> dict[str, Any]:
        raise NotImplementedError

    async def get(self, kind: Any, name: str, namespace: str = "") -> Any:
        selection = _selected(kind, namespace=namespace)
        return _decoded(selection, await self.request("GET", f"{selection.path}/{name}"))

    async def list(self, kind: Any, namespace: str = "", *, labels: str = "", fields: str = "") -> Sequence[Any]:
        selection = _selected(kind, namespace=namespace, labels=labels, fields=fields)
        query = {"limit": str(_PAGE)} | ({"labelSelector": labels} if labels else {})
        query |= {"fieldSelector": fields} if fields else {}
        found: list[Any] = []
        while True:
            page = await self.request("GET", selection.path, query=query)
            found += [_decoded(selection, item) for item in page.get("items") or ()]
            token = page["metadata"].get("continue", "")
            if not token:
                return found
            query["continue"] = token

    async def create(self, kind: Any, body: Any, namespace: str = "") -> Any:
        mapping = body.to_dict() if isinstance(body, KubeObject) else dict(body)
        namespace = namespace or (mapping.get("metadata") or {}).get("namespace", "")
        selection = _selected(kind, namespace=namespace)
        return _decoded(selection, await self.request("POST", selection.path, mapping))

    async def patch(
        self, kind: Any, name: str, patch: Mapping[str, Any], namespace: str = "", *, subresource: str = ""
    ) -> Any:
        selection = _selected(kind, namespace=namespace)
        path = f"{selection.path}/{name}" + (f"/{subresource}" if subresource else "")
        return _decoded(selection, await self.request("PATCH", path, patch))

    async def delete(self, kind: Any, name: str, namespace: str = "") -> bool:
        selection = _selected(kind, namespace=namespace)
        try:
            await self.request("DELETE", f"{selection.path}/{name}")
        except NotFoundError:
            return False
        return True


def _selected(kind: type[KubeObject] | str, **part: Any) -> ObjectSelection:
    # Imported late: a command that asks a running scheduler starts in half the time without the framework.
    from bayplan.framework.object_selection import select_objects

    return select_objects(kind, **part)


def _decoded(selection: ObjectSelection, mapping: dict[str, Any]) -> Any:
    return mapping if selection.kind is None else selection.kind.from_dict(mapping)
