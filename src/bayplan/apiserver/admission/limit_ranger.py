"""LimitRanger: default requests and limits for containers, and their bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bayplan.apiserver.admission.lookup import ObjectLookup, is_pod, refusal
from bayplan.apiserver.registry.attributes import CREATE, UPDATE, AdmissionAttributes
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.model.container_sums import sum_over_containers
from bayplan.model.quantity import Quantity

RANGES = "limitranges"
_ANNOTATION = "kubernetes.io/limit-ranger"


class LimitRanger:
    """See the module docstring."""

    name = "LimitRanger"

    def __init__(self, lookup: ObjectLookup) -> None:
        self._lookup = lookup

    def admit(self, attributes: AdmissionAttributes) -> None:
        if is_pod(attributes) and attributes.operation == CREATE and attributes.obj is not None:
            for limit_range in self._ranges(attributes):
                _merge_defaults(attributes.obj, limit_range)

    def check(self, attributes: AdmissionAttributes) -> None:
        if attributes.obj is None or attributes.subresource:
            return
        pods = is_pod(attributes) and attributes.operation == CREATE
        claims = attributes.resource.plural == "persistentvolumeclaims" and attributes.operation in (
            CREATE,
            UPDATE,
        )
        if not pods and not claims:
            return
        problems: Callable[[Object, Object], Iterator[str]] = _pod_problems if pods else _claim_problems
        for limit_range in self._ranges(attributes):
            found = list(dict.fromkeys(problems(limit_range, attributes.obj)))
            if found:
                raise refusal(attributes, found[0] if len(found) == 1 else f"[{', '.join(found)}]")

    def _ranges(self, attributes: AdmissionAttributes) -> list[Object]:
        return self._lookup.list(RANGES, attributes.namespace) if self._lookup.any(RANGES) else []


def _limits(limit_range: Object, kind: str) -> Iterator[Object]:
    return (limit for limit in limit_range.get("spec", {}).get("limits") or () if limit.get("type") == kind)


def _merge_defaults(pod: Object, limit_range: Object) -> None:
    notes: list[str] = []
    for limit in _limits(limit_range, "Container"):
        for key, word in (("containers", "container"), ("initContainers", "init container")):
            for container in pod["spec"].get(key) or ():
                notes += _merge_into(container, limit, word)
    if notes:
        text = "LimitRanger plugin set: " + "; ".join(notes)
        pod["metadata"].setdefault("annotations", {})[_ANNOTATION] = text


def _merge_into(container: Object, limit: Object, word: str) -> Iterator[str]:
    resources = container.setdefault("resources", {})
    for key, defaults, kind in (
        ("requests", limit.get("defaultRequest", {}), "request"),
        ("limits", limit.get("default", {}), "limit"),
    ):
        missing = sorted(name for name in defaults if name not in resources.get(key, {}))
        if missing:
            resources[key] = {**resources.get(key, {}), **{name: defaults[name] for name in missing}}
            yield f"{', '.join(missing)} {kind} for {word} {container.get('name', '')}"


def _pod_problems(limit_range: Object, pod: Object) -> Iterator[str]:
    spec = pod["spec"]
    for limit in _limits(limit_range, "Container"):
        for container in (*(spec.get("containers") or []), *spec.get("initContainers", ())):
            resources = container.get("resources", {})
            yield from _problems(limit, "Container", resources.get("requests", {}), resources.get("limits", {}))
    for limit in _limits(limit_range, "Pod"):
        requests, limits = sum_over_containers(spec, "requests"), sum_over_containers(spec, "limits")
        yield from _problems(limit, "Pod", requests, limits)


def _claim_problems(limit_range: Object, claim: Object) -> Iterator[str]:
    for limit in _limits(limit_range, "PersistentVolumeClaim"):
        requests = claim["spec"].get("resources", {}).get("requests", {})
        for name, bound in limit.get("min", {}).items():
            yield from _too_little(name, bound, "PersistentVolumeClaim", requests, {})
        for name, bound in limit.get("max", {}).items():
            requested = requests.get(name)
            if requested is None:
                yield f"maximum {name} usage per PersistentVolumeClaim is {bound}.  No request is specified"
            elif Quantity.parse(requested) > Quantity.parse(bound):
                yield f"maximum {name} usage per PersistentVolumeClaim is {bound}, but request is {requested}"


def _problems(
    limit: Mapping[str, Any], kind: str, requests: Mapping[str, str], limits: Mapping[str, str]
) -> Iterator[str]:
    for name, bound in limit.get("min", {}).items():
        yield from _too_little(name, bound, kind, requests, limits)
    for name, bound in limit.get("max", {}).items():
        yield from _too_much(name, bound, kind, requests, limits)
    for name, ratio in limit.get("maxLimitRequestRatio", {}).items():
        yield from _too_far_apart(name, ratio, kind, requests, limits)


def _too_little(
    name: str, bound: str, kind: str, requests: Mapping[str, str], limits: Mapping[str, str]
) -> Iterator[str]:
    low = Quantity.parse(bound)
    if name not in requests:
        yield f"minimum {name} usage per {kind} is {bound}.  No request is specified"
    elif Quantity.parse(requests[name]) < low:
        yield f"minimum {name} usage per {kind} is {bound}, but request is {requests[name]}"
    elif name in limits and Quantity.parse(limits[name]) < low:
        yield f"minimum {name} usage per {kind} is {bound}, but limit is {limits[name]}"


def _too_much(
    name: str, bound: str, kind: str, requests: Mapping[str, str], limits: Mapping[str, str]
) -> Iterator[str]:
    high = Quantity.parse(bound)
    if name not in limits:
        yield f"maximum {name} usage per {kind} is {bound}.  No limit is specified"
    elif Quantity.parse(limits[name]) > high:
        yield f"maximum {name} usage per {kind} is {bound}, but limit is {limits[name]}"
    elif name in requests and Quantity.parse(requests[name]) > high:
        yield f"maximum {name} usage per {kind} is {bound}, but request is {requests[name]}"


def _too_far_apart(
    name: str, ratio: str, kind: str, requests: Mapping[str, str], limits: Mapping[str, str]
) -> Iterator[str]:
    text = f"{name} max limit to request ratio per {kind} is {ratio}"
    request, limit = Quantity.parse(requests.get(name, "0")), Quantity.parse(limits.get(name, "0"))
    if request.is_zero:
        yield f"{text}, but no request is specified or request is 0"
    elif limit.is_zero:
        yield f"{text}, but no limit is specified or limit is 0"
    else:
        observed = limit.milli_value / request.milli_value
        if observed > Quantity.parse(ratio).milli_value / 1000:
            yield f"{text}, but provided ratio is {observed:f}"
