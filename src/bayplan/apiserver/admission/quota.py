"""ResourceQuota: what a namespace may hold. The limits in force, and how much is used, are the quota's status."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.apiserver.admission.lookup import Lookup, is_pod, refusal
from bayplan.apiserver.attributes import CREATE, Attributes
from bayplan.apiserver.store import Key
from bayplan.apiserver.strategies.pod_defaults import sum_over_containers
from bayplan.apiserver.strategies.qos import qos_class
from bayplan.apiserver.strategy import Object
from bayplan.model.quantity import Quantity

QUOTAS = "resourcequotas"
#: Kinds of the core group that are counted by their own name, too.
_COUNTED = (
    "pods", "services", "secrets", "configmaps", "persistentvolumeclaims", "replicationcontrollers",
    "resourcequotas",
)  # fmt: skip


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
        for quota in self._lookup.list(QUOTAS, attributes.namespace):
            if _covers(quota, attributes):
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


def usage(group: str, plural: str, obj: Object) -> dict[str, Quantity]:
    """What an object takes of a namespace's quota."""
    one = Quantity(1)
    use = {f"count/{plural}.{group}" if group else f"count/{plural}": one}
    if not group and plural in _COUNTED:
        use[plural] = one
    if not group and plural == "pods":
        use |= _pod_usage(obj["spec"])
    elif not group and plural == "services":
        use |= _service_usage(obj["spec"])
    elif not group and plural == "persistentvolumeclaims":
        use |= _claim_usage(obj["spec"])
    return use


def _pod_usage(spec: Object) -> dict[str, Quantity]:
    use = {}
    for key in ("requests", "limits"):
        for name, text in sum_over_containers(spec, key).items():
            use[f"{key}.{name}"] = Quantity.parse(text)
            if key == "requests":
                use[name] = use[f"{key}.{name}"]
    return use


def _service_usage(spec: Object) -> dict[str, Quantity]:
    ports = Quantity(len(spec.get("ports", ())))
    match spec.get("type"):
        case "NodePort":
            return {"services.nodeports": ports}
        case "LoadBalancer":
            return {"services.nodeports": ports, "services.loadbalancers": Quantity(1)}
    return {}


def _claim_usage(spec: Object) -> dict[str, Quantity]:
    size = spec.get("resources", {}).get("requests", {}).get("storage")
    if size is None:
        return {}
    use = {"requests.storage": Quantity.parse(size)}
    if spec.get("storageClassName"):
        prefix = f"{spec['storageClassName']}.storageclass.storage.k8s.io"
        use |= {
            f"{prefix}/requests.storage": use["requests.storage"],
            f"{prefix}/persistentvolumeclaims": Quantity(1),
        }
    return use


def _covers(quota: Object, attributes: Attributes) -> bool:
    """Whether the scopes of a quota take in the object; only pods have any."""
    spec = quota.get("spec", {})
    expressions = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes", ())]
    expressions += spec.get("scopeSelector", {}).get("matchExpressions", ())
    if not expressions:
        return True
    if not is_pod(attributes) or attributes.obj is None:
        return False
    pod = attributes.obj["spec"]
    return all(_in_scope(expression, pod) for expression in expressions)


def _in_scope(expression: Mapping[str, object], pod: Object) -> bool:
    match expression.get("scopeName"):
        case "BestEffort":
            return qos_class(pod) == "BestEffort"
        case "NotBestEffort":
            return qos_class(pod) != "BestEffort"
        case "Terminating":
            return pod.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return pod.get("activeDeadlineSeconds") is None
        case "PriorityClass":
            return _priority_matches(expression, str(pod.get("priorityClassName", "")))
    return False


def _priority_matches(expression: Mapping[str, object], name: str) -> bool:
    values = expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return name in values  # type: ignore[operator]
        case "NotIn":
            return name not in values  # type: ignore[operator]
        case "DoesNotExist":
            return not name
    return bool(name)
