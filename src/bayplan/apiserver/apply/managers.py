"""Field managers of an object: `metadata.managedFields`, decoded and encoded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from bayplan.apiserver.apply.fields import FieldSet, in_order, union
from bayplan.apiserver.registry.rest_strategy import Object

APPLY: Final = "Apply"
UPDATE: Final = "Update"
#: Owner of the fields that existed before the first apply.
BEFORE_FIRST_APPLY: Final = "before-first-apply"
#: An object keeps at most this many managers of updates; older ones are merged.
MAX_UPDATE_MANAGERS: Final = 10
_ANCIENT: Final = "ancient-changes"


class FieldManager(NamedTuple):
    """A writer of fields. An applier is the same in every API version; an updater is not."""

    name: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @classmethod
    def applying(cls, name: str, subresource: str = "") -> FieldManager:
        return cls(name or "unknown", APPLY, "", subresource)

    @classmethod
    def updating(cls, name: str, api_version: str, subresource: str = "") -> FieldManager:
        return cls(name or "unknown", UPDATE, api_version, subresource)

    def __str__(self) -> str:
        text = msgspec.json.encode(self.name).decode()
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


class OwnedFields(msgspec.Struct, frozen=True):
    """The fields that one manager owns, the API version they were written in and the time of the last write."""

    fields: FieldSet
    api_version: str
    time: str = ""


Managers = dict[FieldManager, OwnedFields]


class BadManagedFieldsError(ValueError):
    """An invalid entry of managedFields."""


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
        manager = FieldManager(entry.get("manager", ""), operation, known, entry.get("subresource", ""))
        managers[manager] = OwnedFields(entry.get("fieldsV1") or {}, version, entry.get("time") or "")
    return managers


def encode(managers: Managers) -> list[Object]:
    """`metadata.managedFields`: appliers first, then by time and name."""
    return [
        _entry(manager, managers[manager]) for manager in sorted(managers, key=lambda m: _rank(m, managers[m]))
    ]


def _rank(manager: FieldManager, owned: OwnedFields) -> tuple[str, ...]:
    return manager.operation, owned.time, manager.name, owned.api_version, manager.subresource


def _entry(manager: FieldManager, owned: OwnedFields) -> Object:
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
    """Merge the oldest updaters of a version if there are too many."""
    updating = [manager for manager in managers if manager.operation == UPDATE]
    surplus = len(updating) - MAX_UPDATE_MANAGERS
    if surplus <= 0:
        return managers
    result = dict(managers)
    first: dict[str, FieldManager] = {}
    for manager in sorted(updating, key=lambda m: (managers[m].time, m)):
        if surplus <= 0:
            break
        version = managers[manager].api_version
        if version not in first:
            first[version] = manager
            continue
        bucket = FieldManager(_ANCIENT, UPDATE, version)
        if bucket not in result:
            result[bucket] = result.pop(first[version])
        owned = result.pop(manager)
        result[bucket] = OwnedFields(union(owned.fields, result[bucket].fields), version, owned.time)
        surplus -= 1
    return result
