"""ElasticQuotas: writes what the running pods of the namespace request to the status."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.client import NotFoundError
from bayplan.controllers.api_objects import Object, key_of, path_of, split_key
from bayplan.controllers.controller import Controller
from bayplan.controllers.core_events import reference
from bayplan.model import ElasticQuota, Pod, Quantity
from bayplan.model.quantity import BINARY_SI, DECIMAL_SI, MILLI
from bayplan.model.resource_names import CPU, EPHEMERAL_STORAGE, MEMORY, is_huge_page_resource_name


def used_by(quota: Object, pods: Iterable[Pod]) -> dict[str, str]:
    """The requests of *pods* by resource, with zeros for resources of the quota without requests."""
    spec = quota.get("spec") or {}
    total = dict.fromkeys((*(spec.get("min") or {}), *(spec.get("max") or {})), 0)
    for pod in pods:
        if pod.status.phase == "Running":
            for name, amount in pod.all_requests.items():
                total[name] = total.get(name, 0) + amount
    return {name: _as_text(name, amount) for name, amount in total.items()}


def _as_text(resource: str, amount: int) -> str:
    if resource == CPU:
        return str(Quantity(amount, MILLI, DECIMAL_SI))
    is_binary = resource in (MEMORY, EPHEMERAL_STORAGE) or is_huge_page_resource_name(resource)
    return str(Quantity(amount, 0, BINARY_SI if is_binary else DECIMAL_SI))


class ElasticQuotaController(Controller):
    """See the module docstring."""

    name = "ElasticQuotaController"

    def watch(self) -> None:
        self._quotas = self.objects(ElasticQuota.API_VERSION, ElasticQuota.PLURAL)
        self._pods = self._informers.lister(Pod)
        self._pods.add(self._pod_changed)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new if new is not None else old
        if pod is not None:
            for quota in self._quotas.list(pod.namespace):
                self.queue.add(key_of(quota))

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split_key(key)
        quota = self._quotas.get(name, namespace)
        if quota is None:
            return None
        used = used_by(quota, self._pods.list(namespace))
        known = (quota.get("status") or {}).get("used") or {}
        if _amounts(known) != _amounts(used):
            await self._write(quota, {name: used.get(name) for name in {**known, **used}})
        return None

    async def _write(self, quota: Object, used: dict[str, str | None]) -> None:
        """In a merge patch, null removes a field."""
        namespace, name = split_key(key_of(quota))
        path = path_of(ElasticQuota.API_VERSION, ElasticQuota.PLURAL, namespace, name, "status")
        try:
            await self.client.request("PATCH", path, {"status": {"used": used}})
        except NotFoundError:
            return
        about = reference(quota, ElasticQuota.API_VERSION, ElasticQuota.KIND)
        await self.events.emit(about, "Synced", f"Elastic Quota {namespace}/{name} synced successfully")


def _amounts(texts: dict[str, str]) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in texts.items()}
