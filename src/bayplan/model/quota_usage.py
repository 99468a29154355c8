"""The usage of objects under a ResourceQuota, for the admission plugin and for the quota controller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from bayplan.model.container_sums import sum_over_containers
from bayplan.model.quantity import Quantity
from bayplan.model.resource_names import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    is_dra_extended_resource_name,
    is_huge_page_resource_name,
)
from bayplan.model.times import time_of

Object: TypeAlias = Mapping[str, Any]

#: Kinds of the core group that are also counted by their plain name.
COUNTED: Final = (
    "pods", "services", "secrets", "configmaps", "persistentvolumeclaims", "replicationcontrollers",
    "resourcequotas",
)  # fmt: skip
_ENDED: Final = ("Succeeded", "Failed")
_COUNT: Final = "count/"
_STORAGE: Final = ("persistentvolumeclaims", "requests.storage")
_OF_CLASS: Final = ".storageclass.storage.k8s.io/"
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_ONE: Final = Quantity(1)


def kinds_of(names: Iterable[str]) -> set[tuple[str, str]]:
    """The groups and plurals of the objects that the resources of a quota refer to."""
    return {_kind_of(name) for name in names}


def _kind_of(name: str) -> tuple[str, str]:
    if name.startswith(_COUNT):
        plural, _, group = name.removeprefix(_COUNT).partition(".")
        return group, plural
    if name in _STORAGE or any(name.endswith(_OF_CLASS + each) for each in _STORAGE):
        return "", "persistentvolumeclaims"
    if name.startswith("services."):
        return "", "services"
    return "", name if name in COUNTED else "pods"


def usage(group: str, plural: str, obj: Object, now: float = 0.0) -> dict[str, Quantity]:
    """What an object uses of a namespace's quota; *now* in seconds since 1970."""
    use = {f"{_COUNT}{plural}.{group}" if group else f"{_COUNT}{plural}": _ONE}
    if group:
        return use
    match plural:
        case "pods":
            # A pod that has ended counts only as an object.
            return use | ({} if _is_over(obj, now) else _pod_usage(obj["spec"]))
        case "services":
            return use | {plural: _ONE} | _service_usage(obj["spec"])
        case "persistentvolumeclaims":
            return use | {plural: _ONE} | _claim_usage(obj)
    return use | ({plural: _ONE} if plural in COUNTED else {})


# --- pods -------------------------------------------------------------------------------------------------


def _is_over(pod: Object, now: float) -> bool:
    """Ended; or past its deletion grace period, as on a lost node: its replacement must not be blocked."""
    metadata = pod["metadata"]
    deleted, grace = time_of(metadata.get("deletionTimestamp")), metadata.get("deletionGracePeriodSeconds")
    is_stuck = deleted is not None and grace is not None and now > deleted.timestamp() + grace
    return is_stuck or pod.get("status", {}).get("phase") in _ENDED


def _pod_usage(spec: Object) -> dict[str, Quantity]:
    use = {"pods": _ONE}
    for name, amount in _pod_total(spec, "requests").items():
        if name in (CPU, MEMORY, EPHEMERAL_STORAGE) or is_huge_page_resource_name(name):
            use[name] = use[f"requests.{name}"] = amount
        elif is_dra_extended_resource_name(name):
            use[f"requests.{name}"] = amount
    for name, amount in _pod_total(spec, "limits").items():
        if name in (CPU, MEMORY, EPHEMERAL_STORAGE):
            use[f"limits.{name}"] = amount
    return use


def _pod_total(spec: Object, key: str) -> dict[str, Quantity]:
    """The sum over containers, or the pod-level amount, plus overhead; overhead adds to an existing limit only."""
    texts = {**sum_over_containers(spec, key), **(spec.get("resources") or {}).get(key, {})}
    total = {name: Quantity.parse(text) for name, text in texts.items()}
    for name, text in (spec.get("overhead") or {}).items():
        known = total.get(name, Quantity(0))
        if key == "requests" or not known.is_zero:
            total[name] = known + Quantity.parse(text)
    return total


# --- services and claims ----------------------------------------------------------------------------------


def _service_usage(spec: Object) -> dict[str, Quantity]:
    ports = spec.get("ports") or ()
    match spec.get("type"):
        case "NodePort":
            return {"services.nodeports": Quantity(len(ports))}
        case "LoadBalancer":
            if spec.get("allocateLoadBalancerNodePorts") is False:
                ports = [port for port in ports if port.get("nodePort")]
            return {"services.nodeports": Quantity(len(ports)), "services.loadbalancers": _ONE}
    return {}


def _claim_usage(claim: Object) -> dict[str, Quantity]:
    spec = claim["spec"]
    size = spec.get("resources", {}).get("requests", {}).get("storage")
    use = {} if size is None else {"requests.storage": Quantity.parse(size)}
    annotations = claim["metadata"].get("annotations") or {}
    storage_class = annotations.get(_CLASS_ANNOTATION) or spec.get("storageClassName")
    if storage_class:
        of_class = {"persistentvolumeclaims": _ONE, **use}
        use |= {f"{storage_class}{_OF_CLASS}{name}": amount for name, amount in of_class.items()}
    return use


# --- scopes -----------------------------------------------------------------------------------------------


def covers(quota: Object, pod: Object | None) -> bool:
    """Whether a quota's scopes include a pod; None means any other object, which is in no scope."""
    expressions = list(_scopes(quota.get("spec", {})))
    return not expressions or (pod is not None and all(_in_scope(each, pod) for each in expressions))


def _scopes(spec: Object) -> Iterator[Object]:
    for scope in spec.get("scopes") or ():
        yield {"scopeName": scope, "operator": "Exists"}
    yield from (spec.get("scopeSelector") or {}).get("matchExpressions") or ()


def _in_scope(expression: Object, pod: Object) -> bool:
    spec = pod["spec"]
    match expression.get("scopeName"):
        case "BestEffort":
            return _is_best_effort(pod)
        case "NotBestEffort":
            return not _is_best_effort(pod)
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "PriorityClass":
            return _priority_matches(expression, spec.get("priorityClassName", ""))
        case "CrossNamespacePodAffinity":
            return any(map(_names_namespaces, _affinity_terms(spec.get("affinity") or {})))
    return False


def _is_best_effort(pod: Object) -> bool:
    """The API server sets the class in every pod's status on creation."""
    return bool(pod["status"]["qosClass"] == "BestEffort")


def _priority_matches(expression: Object, name: str) -> bool:
    values = expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "DoesNotExist":
            return not name
    return bool(name)


def _affinity_terms(affinity: Object) -> Iterator[Object]:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        yield from terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted["podAffinityTerm"]


def _names_namespaces(term: Object) -> bool:
    return bool(term.get("namespaces")) or term.get("namespaceSelector") is not None
