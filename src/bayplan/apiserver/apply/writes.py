"""Apply requests and ordinary writes on whole objects, `metadata.managedFields` included."""

from __future__ import annotations

import copy
import json
from typing import Any, Final

import msgspec

from bayplan.apiserver.api_errors import StatusError, bad_request
from bayplan.apiserver.apply.fields import FieldSet, difference, is_member, path_text, union
from bayplan.apiserver.apply.managers import (
    BEFORE_FIRST_APPLY,
    BadManagedFieldsError,
    FieldManager,
    Managers,
    capped,
    decode,
    encode,
)
from bayplan.apiserver.apply.ownership import ConflictsError, WriteTarget, updated
from bayplan.apiserver.apply.ownership import applied as merged_and_owned
from bayplan.apiserver.apply.type_validation import findings
from bayplan.apiserver.apply.typed import compare, field_set
from bayplan.apiserver.registry.rest_strategy import Object

#: The configuration of kubectl's last client-side apply; kept up to date by its server-side apply.
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_KUBECTL: Final = "kubectl"


class ApplyOptions(msgspec.Struct, frozen=True):
    """The manager and options of an apply."""

    manager: str
    kind: str
    now: str
    force: bool = False


def applied(
    target: WriteTarget, live: Object | None, config: Object, request: ApplyOptions, *, zero: Object
) -> Object:
    """The object after an apply, managedFields included, to be decoded and defaulted; `live` None creates it.

    `zero` is the object of the kind in which nothing is set.
    """
    _check(target, config, request)
    current = zero if live is None else live
    bare, managers = _split(current)
    _check_live(target, bare, is_first=not managers)
    if not managers:
        change = target.compare(zero, bare)
        before = FieldManager.updating(BEFORE_FIRST_APPLY, target.api_version, target.subresource)
        managers = updated({}, change, before, request.now)
    result, managers = _apply(target, bare, config, managers, request)
    manager = FieldManager.applying(request.manager, target.subresource)
    if result == bare:
        result = copy.deepcopy(bare)
    elif manager in managers:
        managers[manager] = msgspec.structs.replace(managers[manager], time=request.now)
    if request.manager == _KUBECTL:
        _renew_last_applied(result, config)
    return _with_managers(result, managers)


def _check(target: WriteTarget, config: Object, request: ApplyOptions) -> None:
    metadata = config.get("metadata") or {}
    version, kind = config.get("apiVersion", ""), config.get("kind", "")
    if (version, kind) != (target.api_version, request.kind):
        raise bad_request(f"invalid object type: {_kind_text(version, kind)}")
    if metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    if found := findings(config, target.schema):
        raise StatusError(500, "", f"failed to create typed patch object ({_shown(config)}): {_listed(found)}")


def _check_live(target: WriteTarget, live: Object, *, is_first: bool) -> None:
    """Older versions accepted what cannot be merged: list elements without their keys."""
    found = findings(live, target.schema, allow_duplicates=True)
    if not found:
        return
    if is_first:
        what = "failed to create manager for existing fields: failed to convert new object"
        raise StatusError(500, "", f"{what} ({_shown(live)}) to smd typed: {_listed(found)}")
    raise StatusError(500, "", f"failed to create typed live object ({_shown(live)}): {_listed(found)}")


def _shown(obj: Object) -> str:
    metadata = obj.get("metadata") or {}
    kind = _kind_text(obj.get("apiVersion", ""), obj.get("kind", ""))
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {kind}"


def _listed(found: list[str]) -> str:
    return found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])


def _kind_text(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"


def _apply(
    target: WriteTarget, live: Object, config: Object, managers: Managers, request: ApplyOptions
) -> tuple[Object, Managers]:
    manager = FieldManager.applying(request.manager, target.subresource)
    try:
        return merged_and_owned(live, config, managers, manager, target, force=request.force)
    except ConflictsError as error:
        allowed = _allowed_by_last_applied(target, live) if request.manager == _KUBECTL else {}
        conflicts = [(other, path) for other, path in error.conflicts if not _has(allowed, path)]
        if conflicts:
            raise _conflict(conflicts) from error
        return merged_and_owned(live, config, managers, manager, target, force=True)


def _conflict(conflicts: list[tuple[FieldManager, tuple[str, ...]]]) -> StatusError:
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": path_text(path)}
        for manager, path in conflicts
    ]
    if len(causes) == 1:
        message = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lines: list[str] = []
        for manager in dict.fromkeys(manager for manager, _ in conflicts):
            lines.append(f"conflicts with {manager}:")
            lines += [f"- {path_text(path)}" for other, path in conflicts if other == manager]
        message = f"{len(causes)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", f"Apply failed with {message}", details={"causes": causes})


# Fields of kubectl's client-side apply belong to it when it switches to server-side apply.


def _allowed_by_last_applied(target: WriteTarget, live: Object) -> FieldSet:
    """The fields of the last configuration that still have its values."""
    annotation = ((live.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED)
    try:
        config = msgspec.json.decode(annotation or "")
        if config.get("apiVersion") != target.api_version:
            return {}
        change = compare(config, live, target.schema)
        fields = field_set(config, target.schema)
    except (ValueError, AttributeError):  # an annotation that cannot be read allows nothing
        return {}
    return difference(fields, union(union(change.modified, change.added), change.removed))


def _has(fields: FieldSet, path: tuple[str, ...]) -> bool:
    for element in path:
        if element not in fields:
            return False
        fields = fields[element]
    return is_member(fields)


def _renew_last_applied(result: Object, config: Object) -> None:
    annotations = (result.get("metadata") or {}).get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return
    remaining = copy.deepcopy(config)
    (remaining["metadata"].get("annotations") or {}).pop(LAST_APPLIED, None)
    text = json.dumps(remaining, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    result["metadata"] = {**result["metadata"], "annotations": {**annotations, LAST_APPLIED: f"{text}\n"}}


# Ordinary writes.


def track_update(target: WriteTarget, live: Object, new: Object, manager: str, now: str) -> None:
    """Record in `new` who wrote what it changes in `live`, if `live` records managers at all."""
    bare, _ = _split(live)
    managers = _managers_before(target, live, new)
    new["metadata"].pop("managedFields", None)
    if not managers:
        return
    change = target.compare(bare, new)
    writer = FieldManager.updating(manager, target.api_version, target.subresource)
    new["metadata"]["managedFields"] = encode(capped(updated(managers, change, writer, now)))


def _managers_before(target: WriteTarget, live: Object, new: Object) -> Managers:
    """The managers in the written object, which is how a client edits them; otherwise those in the live one."""
    given = new["metadata"].get("managedFields") or []
    if target.subresource or not given:
        return _decoded(live["metadata"].get("managedFields") or [])
    if given == [{}]:
        return {}
    return _decoded(given) or _decoded(live["metadata"].get("managedFields") or [])


def _decoded(entries: Any) -> Managers:
    try:
        return decode(entries)
    except BadManagedFieldsError:
        return {}


def _split(obj: Object) -> tuple[Object, Managers]:
    metadata = dict(obj.get("metadata") or {})
    managers = _decoded(metadata.pop("managedFields", None) or [])
    return {**obj, "metadata": metadata}, managers


def _with_managers(obj: Object, managers: Managers) -> Object:
    metadata = dict(obj.get("metadata") or {})
    if managers:
        metadata["managedFields"] = encode(managers)
    return {**obj, "metadata": metadata}
