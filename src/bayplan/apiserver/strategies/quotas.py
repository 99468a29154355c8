"""LimitRanges and ResourceQuotas as objects; admission enforces them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy, StatusStrategy
from bayplan.apiserver.validation.field_errors import duplicate, each, forbidden, invalid, required
from bayplan.apiserver.validation.name_validation import qualified_name_errors
from bayplan.apiserver.validation.quantity_validation import (
    STANDARD_QUOTA,
    amount_causes,
    container_resource_name_causes,
    is_huge_page,
    may_overcommit,
    quota_resource_name_causes,
    resource_name_causes,
)
from bayplan.model.quantity import Quantity

_LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_POD_SCOPES = (
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
)
_SCOPES = (*_POD_SCOPES, "VolumeAttributesClass")
_EXISTS_ONLY = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity")
_OPPOSITES = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_POD_RESOURCES = ("pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")


class LimitRangeStrategy(RestStrategy):
    """core/v1 LimitRange."""

    allows_create_on_update = True

    def prepare_create(self, obj: Object) -> None:
        # Generate a name if there is none.
        obj["metadata"].setdefault("name", obj["metadata"].get("uid", ""))

    def default(self, obj: Object) -> None:
        for limit in obj.get("spec", {}).get("limits") or []:
            if limit.get("type") == "Container":
                _default_limit(limit)

    def validate(self, obj: Object) -> list[StatusCause]:
        found: list[StatusCause] = []
        types: set[str] = set()
        for i, limit in enumerate(obj.get("spec", {}).get("limits") or ()):
            field_path, kind = f"spec.limits[{i}]", limit.get("type", "")
            found += _limit_type_causes(kind, f"{field_path}.type")
            if kind in types:
                found.append(duplicate(f"{field_path}.type", kind))
            types.add(kind)
            found += _limit_causes(limit, field_path)
        return found


def _default_limit(limit: Object) -> None:
    limits = {**limit.get("max", {}), **limit.get("default", {})}
    requests = {**limit.get("min", {}), **limits, **limit.get("defaultRequest", {})}
    for key, amounts in (("default", limits), ("defaultRequest", requests)):
        if amounts:
            limit[key] = amounts


def _limit_type_causes(kind: str, field: str) -> list[StatusCause]:
    found = each(field, kind, qualified_name_errors(kind))
    if not found and "/" not in kind and kind not in _LIMIT_TYPES:
        found.append(invalid(field, kind, "must be a standard limit type or fully qualified"))
    return found


def _limit_causes(limit: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    kind = limit.get("type", "")
    name_causes = container_resource_name_causes if kind in ("Pod", "Container") else resource_name_causes
    keys = ["max", "min", "maxLimitRequestRatio"]
    if kind == "Pod":
        for key in ("default", "defaultRequest"):
            if limit.get(key):
                yield forbidden(f"{path}.{key}", "may not be specified when `type` is 'Pod'")
    else:
        keys += ["default", "defaultRequest"]
    for key in keys:
        for name in limit.get(key, {}):
            yield from name_causes(name, f"{path}.{key}[{name}]")
    if kind == "PersistentVolumeClaim" and not any("storage" in limit.get(key, {}) for key in ("min", "max")):
        text = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{path}.limits", text)
    for name in dict.fromkeys(name for key in keys for name in limit.get(key, {})):
        amounts = {key: Quantity.parse(limit[key][name]) for key in keys if name in limit.get(key, {})}
        yield from _order_causes(name, amounts, path)


#: Lower, higher, the field at fault, and the message.
_ORDERS = (
    ("min", "max", "min", "min value {} is greater than max value {}"),
    ("min", "defaultRequest", "defaultRequest", "min value {} is greater than default request value {}"),
    ("defaultRequest", "max", "defaultRequest", "default request value {} is greater than max value {}"),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min value {} is greater than default value {}"),
    ("default", "max", "default", "default value {} is greater than max value {}"),
)


def _order_causes(name: str, amounts: dict[str, Quantity], path: str) -> Iterator[StatusCause]:
    for lower, higher, blamed, text in _ORDERS:
        if lower in amounts and higher in amounts and amounts[lower] > amounts[higher]:
            detail = text.format(amounts[lower], amounts[higher])
            yield invalid(f"{path}.{blamed}[{name}]", str(amounts[blamed]), detail)
    ratio, field = amounts.get("maxLimitRequestRatio"), f"{path}.maxLimitRequestRatio[{name}]"
    if ratio is not None and ratio < Quantity(1):
        yield invalid(field, str(ratio), f"ratio {ratio} is less than 1")
    if ratio is not None and "min" in amounts and "max" in amounts and amounts["min"].milli_value:
        limit = amounts["max"].milli_value / amounts["min"].milli_value
        if ratio.milli_value / 1000 > limit:
            yield invalid(field, str(ratio), f"ratio {ratio} is greater than max/min = {limit:f}")
    limit_given, request = amounts.get("default"), amounts.get("defaultRequest")
    both = limit_given is not None and request is not None
    if both and limit_given != request and not may_overcommit(name):
        text = f"default value {limit_given} must equal to defaultRequest value {request} in {name}"
        yield invalid(f"{path}.defaultRequest[{name}]", str(request), text)


class ResourceQuotaStrategy(StatusStrategy):
    """core/v1 ResourceQuota."""

    counts_generations = False
    returns_deleted = True

    def validate(self, obj: Object) -> list[StatusCause]:
        spec = obj.get("spec", {})
        found = list(_hard_causes(spec.get("hard", {}), "spec.hard"))
        found += _scope_causes(spec.get("scopes", []), spec.get("hard", {}))
        found += _scope_selector_causes(spec)
        return found

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        scopes = new.get("spec", {}).get("scopes", [])
        found = self.validate(new)
        if set(scopes) != set(old.get("spec", {}).get("scopes", [])):
            found.append(invalid("spec.scopes", scopes, "field is immutable"))
        return found

    def validate_status_update(self, new: Object, old: Object) -> list[StatusCause]:
        status = new.get("status", {})
        return [
            *_hard_causes(status.get("hard", {}), "status.hard"),
            *_hard_causes(status.get("used", {}), "status.used"),
        ]


def _hard_causes(amounts: Mapping[str, str], path: str) -> Iterator[StatusCause]:
    for name, text in amounts.items():
        yield from quota_resource_name_causes(name, f"{path}[{name}]")
        yield from amount_causes(name, text, f"{path}[{name}]")


def _fits(scope: str, resource: str) -> bool:
    """Whether a scope can be combined with a resource."""
    if resource not in STANDARD_QUOTA or is_huge_page(resource):
        return True
    if scope == "VolumeAttributesClass":
        return resource in ("persistentvolumeclaims", "requests.storage")
    if scope == "BestEffort":
        return resource == "pods"
    known = (*_POD_RESOURCES, "ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage")
    return resource in known or scope not in _POD_SCOPES


def _scope_causes(scopes: list[str], hard: Mapping[str, str]) -> Iterator[StatusCause]:
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid("spec.scopes", scopes, "unsupported scope")
        for name in hard:
            if not _fits(scope, name):
                yield invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    if any(pair <= set(scopes) for pair in _OPPOSITES):
        yield invalid("spec.scopes", scopes, "conflicting scopes")


def _scope_selector_causes(spec: Mapping[str, Any]) -> Iterator[StatusCause]:
    path = "spec.scopeSelector.matchExpressions"
    expressions = spec.get("scopeSelector", {}).get("matchExpressions", ())
    for expression in expressions:
        scope, operator = expression.get("scopeName", ""), expression.get("operator", "")
        values = expression.get("values", [])
        if scope not in _SCOPES:
            yield invalid(f"{path}.scopeName", scope, "unsupported scope")
        if any(not _fits(scope, name) for name in spec.get("hard", {})):
            yield invalid(path, spec["scopeSelector"], "unsupported scope applied to resource")
        if scope in _EXISTS_ONLY and operator != "Exists":
            names = (
                "ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
            )
            text = f"must be 'Exists' when scope is any of {names}ResourceQuotaScopeNotBestEffort or "
            yield invalid(f"{path}.operator", operator, f"{text}ResourceQuotaScopeCrossNamespacePodAffinity")
        if operator in ("In", "NotIn"):
            if not values:
                text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                yield required(f"{path}.values", text)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                yield invalid(f"{path}.values", values, text)
        else:
            yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    if any(pair <= {e.get("scopeName", "") for e in expressions} for pair in _OPPOSITES):
        yield invalid(path, spec.get("scopes"), "conflicting scopes")
