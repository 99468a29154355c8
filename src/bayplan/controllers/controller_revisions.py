"""ControllerRevisions: the templates that a DaemonSet or a StatefulSet has had, for `kubectl rollout history`."""

from __future__ import annotations

from typing import Final

from bayplan.client import ConflictError, NotFoundError
from bayplan.controllers.api_objects import Object, controller_of, owner_reference, path_of
from bayplan.controllers.controller import Controller
from bayplan.controllers.template_hash import template_hash

_APPS: Final = "apps/v1"
_PLURAL: Final = "controllerrevisions"
REVISION_LABEL: Final = "controller-revision-hash"


class RevisionHistory:
    """The revisions of all owners of one kind."""

    def __init__(self, controller: Controller, kind: str) -> None:
        self._client = controller.client
        self._kind = kind
        self._revisions = controller.objects(_APPS, _PLURAL, self._owner_keys)

    def _owner_keys(self, revision: Object) -> list[str]:
        owner = controller_of(revision)
        if owner is None or owner["kind"] != self._kind:
            return []
        return [f"{revision['metadata']['namespace']}/{owner['name']}"]

    async def keep(self, owner: Object, used: set[str]) -> None:
        """Make the revision of the current template the newest; forget old ones that are not *used* by pods."""
        known = sorted(self._of(owner), key=_number)
        hashed = template_hash(owner["spec"]["template"])
        newest = _number(known[-1]) if known else 0
        current = next((each for each in known if _hash(each) == hashed), None)
        if current is None:
            await self._make(owner, hashed, newest + 1)
        elif _number(current) < newest:
            await self._renumber(current, newest + 1)
        limit = owner["spec"].get("revisionHistoryLimit", 10)
        old = [each for each in known if _hash(each) != hashed and _hash(each) not in used]
        for each in old[: max(len(old) - limit, 0)]:
            await self._delete(each)

    def _of(self, owner: Object) -> list[Object]:
        uid = owner["metadata"]["uid"]
        listed = self._revisions.list(owner["metadata"]["namespace"])
        return [each for each in listed if (controller_of(each) or {}).get("uid") == uid]

    async def _make(self, owner: Object, hashed: str, number: int) -> None:
        meta, template = owner["metadata"], owner["spec"]["template"]
        labels = (template.get("metadata") or {}).get("labels") or {}
        body = {
            "apiVersion": _APPS,
            "kind": "ControllerRevision",
            "metadata": {
                "name": f"{meta['name']}-{hashed}",
                "namespace": meta["namespace"],
                "labels": {**labels, REVISION_LABEL: hashed},
                "annotations": meta.get("annotations") or {},
                "ownerReferences": [owner_reference(owner, _APPS, self._kind)],
            },
            "data": {"spec": {"template": {"$patch": "replace", **template}}},
            "revision": number,
        }
        try:
            await self._client.request("POST", path_of(_APPS, _PLURAL, meta["namespace"]), body)
        except ConflictError:
            return  # Created before; the watch will deliver it.

    async def _renumber(self, revision: Object, number: int) -> None:
        meta = revision["metadata"]
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "revision": number}
        await self._client.request("PATCH", path_of(_APPS, _PLURAL, meta["namespace"], meta["name"]), patch)

    async def _delete(self, revision: Object) -> None:
        meta = revision["metadata"]
        try:
            await self._client.request("DELETE", path_of(_APPS, _PLURAL, meta["namespace"], meta["name"]))
        except NotFoundError:
            return


def _number(revision: Object) -> int:
    return int(revision.get("revision", 0))


def _hash(revision: Object) -> str:
    return str((revision["metadata"].get("labels") or {}).get(REVISION_LABEL, ""))
