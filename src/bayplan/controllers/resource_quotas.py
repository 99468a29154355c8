"""ResourceQuotas: writes the limits in force and their usage to the status.

Admission adds what is created. This controller recounts what exists when a quota is new or changed, when something
that counts is deleted or finishes, and every few minutes.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from bayplan.client import NotFoundError
from bayplan.controllers.api_objects import Object, key_of, path_of, split_key
from bayplan.controllers.controller import Controller
from bayplan.controllers.pod_view import PodView
from bayplan.model import Quantity
from bayplan.model.quota_usage import covers, kinds_of, usage

#: kube-controller-manager's --resource-quota-sync-period.
RESYNC_SECONDS: Final = 300.0
#: Kinds of which every change may change the usage; of others only a deletion does.
CHANGING: Final = ("services", "persistentvolumeclaims")


class ResourceQuotaController(Controller):
    """See the module docstring."""

    name = "resourcequota-controller"

    def watch(self) -> None:
        self._watched = {("", "pods")}
        self._quotas = self._informers.custom("v1", "resourcequotas")
        self._quotas.add(self._quota_changed)
        self.pods(self._pod_changed)

    def _quota_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None and (old is None or old.get("spec") != new.get("spec")):
            self.queue.add(key_of(new))

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        if old is not None and (new is None or (new.has_ended and not old.has_ended)):
            self._count_again("", "pods", old.namespace)

    def _object_changed(self, group: str, plural: str, old: Object | None, new: Object | None) -> None:
        if old is not None and (new is None or plural in CHANGING):
            self._count_again(group, plural, old["metadata"]["namespace"])

    def _count_again(self, group: str, plural: str, namespace: str) -> None:
        for quota in self._quotas.list(namespace):
            if (group, plural) in kinds_of(_hard(quota)):
                self.queue.add(key_of(quota))

    # --- counting -----------------------------------------------------------------------------------------

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split_key(key)
        quota = self._quotas.get(name, namespace)
        if quota is None:
            return None
        hard, known = _hard(quota), quota.get("status") or {}
        used = await self._used(quota, namespace)
        if known.get("hard") != hard or _amounts(known.get("used") or {}) != used:
            status = {"hard": hard, "used": {resource: str(amount) for resource, amount in used.items()}}
            path = path_of("v1", "resourcequotas", namespace, name, "status")
            # With its resourceVersion: after a concurrent creation this fails and is counted again.
            body = {"apiVersion": "v1", "kind": "ResourceQuota", **quota, "status": status}
            await self.client.request("PUT", path, body)
        return RESYNC_SECONDS

    async def _used(self, quota: Object, namespace: str) -> dict[str, Quantity]:
        used = dict.fromkeys(_hard(quota), Quantity(0))
        for group, plural in sorted(kinds_of(used)):
            for obj in await self._list(group, plural, namespace):
                if covers(quota, obj if (group, plural) == ("", "pods") else None):
                    for resource, amount in usage(group, plural, obj, self.clock.now()).items():
                        if resource in used:
                            used[resource] += amount
        return used

    async def _list(self, group: str, plural: str, namespace: str) -> list[Object]:
        """The existing objects; none for a kind that is not served."""
        try:
            version = await self._version_of(group)
            listed = await self.client.request("GET", path_of(version, plural, namespace))
        except NotFoundError:
            return []
        if (group, plural) not in self._watched:
            self._watched.add((group, plural))
            self._informers.custom(version, plural).add(partial(self._object_changed, group, plural))
        items: list[Object] = listed["items"]
        return items

    async def _version_of(self, group: str) -> str:
        if not group:
            return "v1"
        return str((await self.client.request("GET", f"/apis/{group}"))["preferredVersion"]["groupVersion"])


def _hard(quota: Object) -> dict[str, str]:
    return quota.get("spec", {}).get("hard") or {}


def _amounts(texts: dict[str, str]) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in texts.items()}
