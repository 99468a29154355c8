"""API objects as dictionaries: keys, paths, owners, selectors, conditions."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from bayplan.model.kube_object import LabelSelector
from bayplan.model.label_selectors import Selector, compile_selector

Object: TypeAlias = dict[str, Any]


def key_of(obj: Object) -> str:
    meta = obj["metadata"]
    namespace = meta.get("namespace")
    return f"{namespace}/{meta['name']}" if namespace else str(meta["name"])


def split_key(key: str) -> tuple[str, str]:
    """Namespace and name; the namespace of a cluster-scoped object is empty."""
    namespace, _, name = key.rpartition("/")
    return namespace, name


def path_of(api_version: str, plural: str, namespace: str = "", name: str = "", subresource: str = "") -> str:
    root = "apis" if "/" in api_version else "api"
    parts = [f"/{root}/{api_version}"]
    if namespace:
        parts.append(f"namespaces/{namespace}")
    parts += [part for part in (plural, name, subresource) if part]
    return "/".join(parts)


def controller_of(obj: Object) -> Object | None:
    """The owner that controls the object."""
    owners: list[Object] = obj["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)


def owner_reference(owner: Object, api_version: str, kind: str) -> Object:
    meta = owner["metadata"]
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def selector_of(selector: Object | None) -> Selector:
    """A compiled LabelSelector."""
    return _compiled(msgspec.json.encode(selector))


@lru_cache(maxsize=4096)
def _compiled(selector: bytes) -> Selector:
    return compile_selector(msgspec.json.decode(selector, type=LabelSelector | None))


def is_being_deleted(obj: Object) -> bool:
    return obj["metadata"].get("deletionTimestamp") is not None


def set_condition(conditions: list[Object], new: Object) -> None:
    """Replace the condition of the same type; its transition time stays unless the status changes."""
    for position, known in enumerate(conditions):
        if known["type"] == new["type"]:
            if known["status"] == new["status"] and "lastTransitionTime" in known:
                new = {**new, "lastTransitionTime": known["lastTransitionTime"]}
            conditions[position] = new
            return
    conditions.append(new)
