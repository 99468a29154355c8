"""How writes move fields between managers: the rules of server-side apply, as functions of sets and values.

update   what the writer changed or added is the writer's; what went away is nobody's
apply    what the configuration says is the applier's, together with others who said the same; where it
         changes what others own, that is a conflict unless forced; what the applier owned and left out goes
         away unless somebody else owns it
"""

from __future__ import annotations

from typing import Any

import msgspec

from bayplan.apiserver.apply.fields import FieldSet, Path, difference, intersection, paths, union, without
from bayplan.apiserver.apply.managers import Manager, Managers, Owned
from bayplan.apiserver.apply.merging import merge, remove, with_structs
from bayplan.apiserver.apply.typed import Comparison, compare, field_set
from bayplan.apiserver.schema_view import SchemaNode
from bayplan.apiserver.strategy import Object

#: What everybody must say or the server sets: nobody owns it.
_NOBODYS: FieldSet = {
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
    """An apply that would change what others own."""

    def __init__(self, conflicts: list[tuple[Manager, Path]]) -> None:
        super().__init__(conflicts)
        self.conflicts = conflicts


class View(msgspec.Struct, frozen=True):
    """How one way in (a resource, or its status) sees objects: their type, version, and what it cannot write."""

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


def updated(managers: Managers, change: Comparison, manager: Manager, now: str) -> Managers:
    """The managers after an ordinary write by one of them."""
    result = _others_after(managers, change)
    taken = difference(union(change.modified, change.added), _NOBODYS)
    if taken:
        before = result.get(manager)
        fields = union(taken, before.fields) if before else taken
        result[manager] = Owned(fields, manager.api_version, now)
    return result


def _others_after(managers: Managers, change: Comparison) -> Managers:
    gone = union(union(change.modified, change.added), change.removed)
    left = {
        manager: Owned(difference(owned.fields, gone), owned.api_version, owned.time)
        for manager, owned in managers.items()
    }
    return {manager: owned for manager, owned in left.items() if owned.fields}


def applied(
    live: Object, config: Object, managers: Managers, manager: Manager, view: View, *, force: bool
) -> tuple[Object, Managers]:
    """The object with the configuration in it, and its managers; both new."""
    last = managers.get(manager)
    mine = without(field_set(config, view.schema), view.reset)
    everybody = {**managers, manager: Owned(mine, view.api_version, last.time if last else "")}
    merged: Object = merge(live, config, view.schema)
    if last is not None:
        merged = _pruned(merged, last.fields, everybody, view.schema)
    change = view.compare(live, merged)
    others = {other: owned for other, owned in everybody.items() if other != manager}
    if not force:
        _refuse_conflicts(others, change)
    result = _others_after(others, change)
    if mine := difference(mine, _NOBODYS):
        result[manager] = Owned(mine, view.api_version, everybody[manager].time)
    return merged, result


def _refuse_conflicts(others: Managers, change: Comparison) -> None:
    touched = union(change.modified, change.added)
    conflicts = [
        (other, path) for other in sorted(others) for path in paths(intersection(others[other].fields, touched))
    ]
    if conflicts:
        raise ConflictsError(conflicts)


def _pruned(merged: Object, last: FieldSet, managers: Managers, schema: SchemaNode) -> Object:
    """The object without what the applier owned and left out, as far as nobody else owns it."""
    last = with_structs(last, schema)
    everything = with_structs(field_set(merged, schema), schema)
    owned: FieldSet = {}
    for other in managers.values():
        owned = union(owned, other.fields)
    # 1. All that the applier owned goes; 2. what anybody owns now comes back;
    left = _fields_left(merged, last, schema)
    kept = union(left, with_structs(owned, schema))
    left = _fields_left(merged, difference(everything, kept), schema)
    # 3. and what the applier never owned, but was gone with a parent.
    result: Object = remove(merged, intersection(difference(everything, left), last), schema) or {}
    return result


def _fields_left(value: Object, gone: FieldSet, schema: SchemaNode) -> FieldSet:
    return with_structs(field_set(remove(value, gone, schema), schema), schema)
