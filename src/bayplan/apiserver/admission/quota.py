"""ResourceQuota: limits what a namespace may hold. Limits in force and usage are in the quota's status."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.apiserver.admission.lookup import ObjectLookup, is_pod, refusal
from bayplan.apiserver.registry.attributes import CREATE, AdmissionAttributes
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.storage.versioned_store import Key
from bayplan.model.quantity import Quantity
from bayplan.model.quota_usage import covers, usage

QUOTAS = "resourcequotas"
#: Resources that every container must request if a quota limits them.
_COMPUTE = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))


class ResourceQuota:
    """Refuses what would exceed a quota, and adds the rest to its usage."""

    name = "ResourceQuota"

    def __init__(self, lookup: ObjectLookup) -> None:
        self._lookup = lookup

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Nothing to change."""

    def check(self, attributes: AdmissionAttributes) -> None:
        obj = attributes.obj
        if obj is None or attributes.operation != CREATE or attributes.subresource or not attributes.namespace:
            return
        if not self._lookup.any(QUOTAS) or attributes.resource.plural in ("resourcequotas", "events"):
            return
        use = usage(attributes.resource.group, attributes.resource.plural, obj)
        pod = obj if is_pod(attributes) else None
        for quota in self._lookup.list(QUOTAS, attributes.namespace):
            if covers(quota, pod):
                self._charge(attributes, quota, use)

    def _charge(self, attributes: AdmissionAttributes, quota: Object, use: Mapping[str, Quantity]) -> None:
        name, status = quota["metadata"]["name"], quota.get("status", {})
        hard, used = status.get("hard", {}), status.get("used", {})
        missing = _missing_compute(attributes, hard)
        if missing:
            raise refusal(attributes, f"failed quota: {name}: must specify {missing}")
        concerned = sorted(use.keys() & hard.keys())
        if not concerned:
            return
        unknown = [resource for resource in concerned if resource not in used]
        if unknown:
            raise refusal(attributes, f"status unknown for quota: {name}, resources: {','.join(unknown)}")
        over = [r for r in concerned if Quantity.parse(used[r]) + use[r] > Quantity.parse(hard[r])]
        if over:
            requested, spent, limit = (
                ",".join(f"{r}={amounts[r]}" for r in over) for amounts in (use, used, hard)
            )
            why = f"exceeded quota: {name}, requested: {requested}, used: {spent}, limited: {limit}"
            raise refusal(attributes, why)
        if not attributes.dry_run:
            quota["status"]["used"] = {**used, **{r: str(Quantity.parse(used[r]) + use[r]) for r in concerned}}
            self._lookup.store.put(Key(QUOTAS, attributes.namespace, name), quota, {})


def _missing_compute(attributes: AdmissionAttributes, hard: Mapping[str, str]) -> str:
    """The compute resources under quota for which containers of a pod set nothing."""
    if not is_pod(attributes) or attributes.obj is None:
        return ""
    spec = attributes.obj["spec"]
    if spec.get("resources"):
        return ""
    containers = [*(spec.get("containers") or ()), *spec.get("initContainers", ())]
    missing = []
    for resource in sorted(_COMPUTE & hard.keys()):
        key, _, name = resource.rpartition(".")
        silent = sorted(
            each.get("name", "")
            for each in containers
            if name not in each.get("resources", {}).get(key or "requests", {})
        )
        if silent:
            missing.append(f"{resource} for: {','.join(silent)}")
    return "; ".join(missing)
