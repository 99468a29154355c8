"""Changes of objects as inputs of a core, for drivers without an API server to ask which objects are selected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bayplan.core.messages import CustomObjectChanged, Input, ObjectChanged, SelectedObjectChanged
from bayplan.framework.object_selection import ObjectSelection, is_plural_of
from bayplan.model import KINDS, KubeObject, decode_object
from bayplan.model.read_only import read_only

if TYPE_CHECKING:
    from bayplan.cache.object_store import ObjectStores


def changes_of(stores: ObjectStores, value: KubeObject | Mapping[str, Any], *, is_there: bool) -> Iterator[Input]:
    """The inputs that show *value* to a core with *stores*, or its deletion: one for every selection that it is
    in, was in or leaves."""
    mapping = dict(value.whole if isinstance(value, KubeObject) else value)
    if not isinstance(value, KubeObject) and (mapping.get("apiVersion"), mapping.get("kind")) in KINDS:
        value = decode_object(mapping)
    if isinstance(value, KubeObject):
        yield ObjectChanged(None, value) if is_there else ObjectChanged(value, None)
        api_version, plural = type(value).API_VERSION, type(value).PLURAL
    else:
        api_version, plural = str(mapping.get("apiVersion", "")), _plural(stores, mapping)
    frozen = read_only({"apiVersion": api_version, **mapping})
    if (api_version, plural) in stores.custom_kinds:
        yield CustomObjectChanged(api_version, plural, *((None, frozen) if is_there else (frozen, None)))
    for selection in stores.selections:
        if selection[:2] == (api_version, plural):
            yield from _of_selection(stores, selection, frozen, value, is_there=is_there)


def _of_selection(
    stores: ObjectStores, selection: ObjectSelection, frozen: Any, value: Any, *, is_there: bool
) -> Iterator[Input]:
    shown = frozen if selection.kind is None else value
    metadata = frozen["metadata"]
    old = stores.selected(selection).get(metadata["name"], metadata.get("namespace", ""))
    new = shown if is_there and selection.matches(shown) else None
    if old is not None or new is not None:
        yield SelectedObjectChanged(selection, old, new)


def _plural(stores: ObjectStores, mapping: Mapping[str, Any]) -> str:
    """The resource of a custom object, among those that plugins have asked for."""
    api_version, kind = mapping.get("apiVersion"), str(mapping.get("kind", ""))
    asked = {plural for version, plural in stores.custom_kinds if version == api_version}
    asked |= {each.plural for each in stores.selections if each.api_version == api_version}
    fitting = [plural for plural in asked if is_plural_of(plural, kind)]
    if not fitting:
        raise LookupError(f"no plugin has asked for objects of {api_version} {kind!r}")
    return fitting[0]
