"""Validation of resource quantities, and of resource names by context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.validation.field_errors import duplicate, each, forbidden, invalid, not_supported, required
from bayplan.apiserver.validation.name_validation import label_errors, qualified_name_errors
from bayplan.model.quantity import Quantity

_COUNTED_OBJECTS = (
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
)
_NODE_LEVEL = ("cpu", "memory", "ephemeral-storage")
_QUOTA_ONLY = tuple(f"{kind}.{name}" for kind in ("requests", "limits") for name in _NODE_LEVEL)
_STANDARD = frozenset(
    (*_NODE_LEVEL, *_QUOTA_ONLY, *_COUNTED_OBJECTS, "storage", "requests.storage", "services.nodeports",
     "services.loadbalancers")
)  # fmt: skip
#: Resources in whole numbers only.
INTEGER_RESOURCES = frozenset((*_COUNTED_OBJECTS, "services.nodeports", "services.loadbalancers"))
STANDARD_QUOTA = _STANDARD


def is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """`example.com/gpu`: a foreign domain, and short enough for a quota's name."""
    if is_native(name) or name.startswith("requests."):
        return False
    return not qualified_name_errors(f"requests.{name}")


def may_overcommit(name: str) -> bool:
    return is_native(name) and not is_huge_page(name)


def resource_name_causes(name: str, path: str) -> list[StatusCause]:
    found = each(path, name, qualified_name_errors(name))
    known = name in _STANDARD or name.startswith(("hugepages-", "requests.hugepages-"))
    if not found and "/" not in name and not known:
        found.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    return found


def container_resource_name_causes(name: str, path: str) -> list[StatusCause]:
    found = resource_name_causes(name, path)
    if "/" not in name:
        if name not in _NODE_LEVEL and not is_huge_page(name):
            found.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        found.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return found


def pod_resource_name_causes(name: str, path: str) -> list[StatusCause]:
    found = resource_name_causes(name, path)
    if not found and name not in ("cpu", "memory") and not is_huge_page(name):
        found.append(not_supported(path, name, ("cpu", "hugepages-", "memory")))
    return found


def quota_resource_name_causes(name: str, path: str) -> list[StatusCause]:
    return resource_name_causes(name, path)


def amount_causes(name: str, text: str, path: str) -> Iterator[StatusCause]:
    """Not negative, and whole where fractions are not allowed."""
    amount = Quantity.parse(text)
    if amount.sign < 0:
        yield invalid(path, text, "must be greater than or equal to 0")
    if (name in INTEGER_RESOURCES or is_extended(name)) and amount.milli_value % 1000:
        yield invalid(path, text, "must be an integer")


def requirement_causes(
    resources: Mapping[str, Any], path: str, claim_names: Iterable[str] = (), *, of_pod: bool = False
) -> Iterator[StatusCause]:
    """Errors of limits, requests and claims of a container, or of a pod as a whole."""
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    name_causes = pod_resource_name_causes if of_pod else container_resource_name_causes
    for key, amounts in (("limits", limits), ("requests", requests)):
        for name, text in amounts.items():
            field_path = f"{path}.{key}[{name}]"
            yield from name_causes(name, field_path)
            yield from amount_causes(name, text, field_path)
            if is_huge_page(name):
                yield from _page_causes(name, text, field_path)
    for name, text in requests.items():
        yield from _request_causes(name, text, limits, path)
    names = {*limits, *requests}
    if any(map(is_huge_page, names)) and not names & {"cpu", "memory"}:
        yield forbidden(path, "HugePages require cpu or memory")
    yield from _claim_causes(resources.get("claims", ()), tuple(claim_names), f"{path}.claims")


def _request_causes(name: str, text: str, limits: Mapping[str, str], path: str) -> Iterator[StatusCause]:
    if name not in limits:
        if not may_overcommit(name):
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    amount, limit = Quantity.parse(text), Quantity.parse(limits[name])
    if amount != limit and not may_overcommit(name):
        yield invalid(f"{path}.requests", text, f"must be equal to {name} limit of {limits[name]}")
    elif amount > limit:
        yield invalid(f"{path}.requests", text, f"must be less than or equal to {name} limit of {limits[name]}")


def _page_causes(name: str, text: str, path: str) -> Iterator[StatusCause]:
    try:
        page = Quantity.parse(name.removeprefix("hugepages-")).value
    except ValueError:
        page = 0
    value = Quantity.parse(text).value
    if page <= 0 or value % page:
        yield invalid(path, text, f"{text} is not positive integer multiple of {name}")


def _claim_causes(claims: Iterable[Mapping[str, str]], known: tuple[str, ...], path: str) -> Iterator[StatusCause]:
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        name, request = claim.get("name", ""), claim.get("request", "")
        field_path = f"{path}[{i}]"
        if not name:
            yield required(field_path)
            continue
        key = f"{name}/{request}" if request else name
        if request:
            yield from each(f"{field_path}.request", request, label_errors(request))
        if name in seen or key in seen or (not request and any(k.startswith(f"{name}/") for k in seen)):
            yield duplicate(field_path, name if name in seen else key)
        seen.add(key)
        if name not in known:
            rest = ": " + ", ".join(sorted(known)) if known else " which is empty"
            text = f'Not found: "{name}": must be one of the names in pod.spec.resourceClaims{rest}'
            yield StatusCause(field_path, "FieldValueNotFound", text)
