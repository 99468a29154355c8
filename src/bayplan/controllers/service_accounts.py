"""ServiceAccounts: every namespace has one called `default`, which returns if it is deleted."""

from __future__ import annotations

from typing import Final

from bayplan.client import ConflictError
from bayplan.controllers.api_objects import Object, is_being_deleted, path_of
from bayplan.controllers.controller import Controller

DEFAULT: Final = "default"


class ServiceAccountController(Controller):
    """See the module docstring. A key is the name of a namespace."""

    name = "service-account-controller"

    def watch(self) -> None:
        self._namespaces = self.objects("v1", "namespaces")
        self._accounts = self.objects("v1", "serviceaccounts", _namespace_of)

    async def reconcile(self, key: str) -> float | None:
        namespace = self._namespaces.get(key)
        if namespace is None or is_being_deleted(namespace) or self._accounts.get(DEFAULT, key) is not None:
            return None
        body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DEFAULT, "namespace": key}}
        try:
            await self.client.request("POST", path_of("v1", "serviceaccounts", key), body)
        except ConflictError:
            return None  # Created before; the watch will deliver it.
        return None


def _namespace_of(account: Object) -> tuple[str, ...]:
    return (account["metadata"]["namespace"],)
