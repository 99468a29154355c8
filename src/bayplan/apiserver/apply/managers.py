"""Who owns which fields of an object: `metadata.managedFields`, decoded and written again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from bayplan.apiserver.apply.fields import FieldSet, in_order, union
from bayplan.apiserver.strategy import Object

APPLY: Final = "Apply"
UPDATE: Final = "Update"
#: Who owns what was there before anybody applied.
BEFORE_FIRST_APPLY: Final = "before-first-apply"
#: Managers by update that an object keeps apart; the oldest beyond are one.
MAX_UPDATE_MANAGERS: Final = 10
_ANCIENT: Final = "ancient-changes"


class Manager(NamedTuple):
    """Somebody who wrote fields. Who applies is the same in every version; who updates is not."""

    name: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @classmethod
    def applying(cls, name: str, subresource: str = "") -> Manager:
        return cls(name or "unknown", APPLY, "", subresource)

    @classmethod
    def updating(cls, name: str, api_version: str, subresource: str = "") -> Manager:
        return cls(name or "unknown", UPDATE, api_version, subresource)

    def __str__(self) -> str:
        told = msgspec.json.encode(self.name).decode()
        if self.subresource:
            told += f' with subresource "{self.subresource}"'
        return f"{told} using {self.api_version}" if self.operation == UPDATE else told


class Owned(msgspec.Struct, frozen=True):
    """What one manager owns, written in this version, last at this time."""

    fields: FieldSet
    api_version: str
    time: str = ""


Managers = dict[Manager, Owned]


class BadManagedFieldsError(ValueError):
    """An entry of managedFields that nobody could have written by the rules."""


def decode(entries: Iterable[Any]) -> Managers:
    """The managers of `metadata.managedFields`."""
    managers: Managers = {}
    for i, entry in enumerate(entries):
        operation, version = entry.get("operation", ""), entry.get("apiVersion", "")
        if operation not in (APPLY, UPDATE):
            raise BadManagedFieldsError("operation must be `Apply` or `Update`")
        if not version:
            raise BadManagedFieldsError("apiVersion must not be empty")
        if (kind := entry.get("fieldsType", "")) != "FieldsV1":
            wrong = f'invalid fieldsType "{kind}"' if kind else "missing fieldsType"
            raise BadManagedFieldsError(f"{wrong} in managed fields entry {i}")
        known = "" if operation == APPLY else version
        manager = Manager(entry.get("manager", ""), operation, known, entry.get("subresource", ""))
        managers[manager] = Owned(entry.get("fieldsV1") or {}, version, entry.get("time") or "")
    return managers


def encode(managers: Managers) -> list[Object]:
    """`metadata.managedFields`: who applies first, then by time and name."""
    return [
        _entry(manager, managers[manager]) for manager in sorted(managers, key=lambda m: _rank(m, managers[m]))
    ]


def _rank(manager: Manager, owned: Owned) -> tuple[str, ...]:
    return manager.operation, owned.time, manager.name, owned.api_version, manager.subresource


def _entry(manager: Manager, owned: Owned) -> Object:
    entry: Object = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": owned.api_version,
        "time": owned.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": in_order(owned.fields),
        "subresource": manager.subresource,
    }
    return {key: value for key, value in entry.items() if value or key == "fieldsV1"}


def capped(managers: Managers) -> Managers:
    """With too many managers by update, the oldest of a version are one."""
    updating = [manager for manager in managers if manager.operation == UPDATE]
    surplus = len(updating) - MAX_UPDATE_MANAGERS
    if surplus <= 0:
        return managers
    result = dict(managers)
    first: dict[str, Manager] = {}
    for manager in sorted(updating, key=lambda m: (managers[m].time, m)):
        if surplus <= 0:
            break
        version = managers[manager].api_version
        if version not in first:
            first[version] = manager
            continue
        bucket = Manager(_ANCIENT, UPDATE, version)
        if bucket not in result:
            result[bucket] = result.pop(first[version])
        owned = result.pop(manager)
        result[bucket] = Owned(union(owned.fields, result[bucket].fields), version, owned.time)
        surplus -= 1
    return result
