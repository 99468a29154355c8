"""ResourceQuota: what a namespace may hold. The limits in force, and how much is used, are the quota's status."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.apiserver.admission.lookup import Lookup, is_pod, refusal
from bayplan.apiserver.attributes import CREATE, Attributes
from bayplan.apiserver.store import Key
from bayplan.apiserver.strategy import Object
from bayplan.model.quantity import Quantity
from bayplan.model.quota_usage import covers, usage

QUOTAS = "resourcequotas"
#: What every container must ask for where there is a quota for it.
_COMPUTE = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))


class ResourceQuota:
    """Refuses what would exceed a quota, and books what does not."""

    name = "ResourceQuota"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def admit(self, attributes: Attributes) -> None:
        """Nothing to change."""

    def check(self, attributes: Attributes) -> None:
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

    def _charge(self, attributes: Attributes, quota: Object, use: Mapping[str, Quantity]) -> None:
        name, status = quota["metadata"]["name"], quota.get("status", {})
        hard, used = status.get("hard", {}), status.get("used", {})
        missing = _unsaid(attributes, hard)
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
            asked, spent, limit = (",".join(f"{r}={amounts[r]}" for r in over) for amounts in (use, used, hard))
            why = f"exceeded quota: {name}, requested: {asked}, used: {spent}, limited: {limit}"
            raise refusal(attributes, why)
        if not attributes.dry_run:
            quota["status"]["used"] = {**used, **{r: str(Quantity.parse(used[r]) + use[r]) for r in concerned}}
            self._lookup.store.put(Key(QUOTAS, attributes.namespace, name), quota, {})


def _unsaid(attributes: Attributes, hard: Mapping[str, str]) -> str:
    """The compute resources under quota that containers of a pod do not speak of."""
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
