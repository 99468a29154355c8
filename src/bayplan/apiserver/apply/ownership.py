"""How writes move fields between managers: the rules of server-side apply, as pure functions of sets and values.

update   the writer owns what it changed or added; removed fields have no owner
apply    the applier owns everything in its configuration, shared with managers that set the same value;
         changing a field that others own is a conflict unless forced; fields that the applier owned and left
         out are removed unless another manager owns them
"""

from __future__ import annotations

from typing import Any

import msgspec

from bayplan.apiserver.apply.fields import FieldSet, Path, difference, intersection, paths, union, without
from bayplan.apiserver.apply.managers import FieldManager, Managers, OwnedFields
from bayplan.apiserver.apply.merging import merge, remove, with_structs
from bayplan.apiserver.apply.typed import Comparison, compare, field_set
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.schema.schema_node import SchemaNode

#: Fields that every client must send or that the server sets: they have no owner.
_UNOWNED: FieldSet = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        ".": {},
        "f:name": {},
        "f:namespace": {},
        "f:creationTimestamp": {},
        "f:selfLink": {},
        "f:uid": {},
        "f:clusterName": {},
        "f:generation": {},
        "f:managedFields": {},
        "f:resourceVersion": {},
    },
}


class ConflictsError(Exception):
    """An apply that would change fields of other managers."""

    def __init__(self, conflicts: list[tuple[FieldManager, Path]]) -> None:
        super().__init__(conflicts)
        self.conflicts = conflicts


class WriteTarget(msgspec.Struct, frozen=True):
    """A resource, or its status, as the target of a write: type, version, and the fields it cannot write."""

    schema: SchemaNode
    api_version: str
    subresource: str = ""
    reset: FieldSet = {}

    def compare(self, old: Any, new: Any) -> Comparison:
        found = compare(old, new, self.schema)
        if self.reset:
            found.removed = without(found.removed, self.reset)
            found.modified = without(found.modified, self.reset)
            found.added = without(found.added, self.reset)
        return found


def updated(managers: Managers, change: Comparison, manager: FieldManager, now: str) -> Managers:
    """The managers after an ordinary write by one of them."""
    result = _others_after(managers, change)
    taken = difference(union(change.modified, change.added), _UNOWNED)
    if taken:
        before = result.get(manager)
        fields = union(taken, before.fields) if before else taken
        result[manager] = OwnedFields(fields, manager.api_version, now)
    return result


def _others_after(managers: Managers, change: Comparison) -> Managers:
    gone = union(union(change.modified, change.added), change.removed)
    left = {
        manager: OwnedFields(difference(owned.fields, gone), owned.api_version, owned.time)
        for manager, owned in managers.items()
    }
    return {manager: owned for manager, owned in left.items() if owned.fields}


def applied(
    live: Object, config: Object, managers: Managers, manager: FieldManager, target: WriteTarget, *, force: bool
) -> tuple[Object, Managers]:
    """The object with the configuration merged in, and its managers; both are new."""
    last = managers.get(manager)
    mine = without(field_set(config, target.schema), target.reset)
    all_managers = {**managers, manager: OwnedFields(mine, target.api_version, last.time if last else "")}
    merged: Object = merge(live, config, target.schema)
    if last is not None:
        merged = _pruned(merged, last.fields, all_managers, target.schema)
    change = target.compare(live, merged)
    others = {other: owned for other, owned in all_managers.items() if other != manager}
    if not force:
        _refuse_conflicts(others, change)
    result = _others_after(others, change)
    if mine := difference(mine, _UNOWNED):
        result[manager] = OwnedFields(mine, target.api_version, all_managers[manager].time)
    return merged, result


def _refuse_conflicts(others: Managers, change: Comparison) -> None:
    touched = union(change.modified, change.added)
    conflicts = [
        (other, path) for other in sorted(others) for path in paths(intersection(others[other].fields, touched))
    ]
    if conflicts:
        raise ConflictsError(conflicts)


def _pruned(merged: Object, last: FieldSet, managers: Managers, schema: SchemaNode) -> Object:
    """The object without the fields that the applier owned and left out, unless another manager owns them."""
    last = with_structs(last, schema)
    everything = with_structs(field_set(merged, schema), schema)
    owned: FieldSet = {}
    for other in managers.values():
        owned = union(owned, other.fields)
    # 1. Remove everything that the applier owned; 2. put back what any manager owns now;
    left = _fields_left(merged, last, schema)
    kept = union(left, with_structs(owned, schema))
    left = _fields_left(merged, difference(everything, kept), schema)
    # 3. and what the applier never owned but lost with a parent.
    result: Object = remove(merged, intersection(difference(everything, left), last), schema) or {}
    return result


def _fields_left(value: Object, gone: FieldSet, schema: SchemaNode) -> FieldSet:
    return with_structs(field_set(remove(value, gone, schema), schema), schema)
