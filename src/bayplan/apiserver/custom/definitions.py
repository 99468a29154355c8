"""The kind CustomResourceDefinition: defaults, validation, and the conditions that its controllers would set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.custom.definition_validation import changed_definition_causes, definition_causes
from bayplan.apiserver.custom.schema_validation import schema_warnings
from bayplan.apiserver.registry.rest_strategy import Object, StatusStrategy
from bayplan.apiserver.schema.schemas import Json

CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"


class DefinitionStrategy(StatusStrategy):
    """See `rest_strategy`; `now` is the current time as metadata writes it."""

    is_terminated_first = True
    returns_deleted = True
    allows_unconditional_update = False

    def __init__(self, now: Callable[[], str]) -> None:
        self._now = now

    def default(self, obj: Object) -> None:
        names = obj["spec"]["names"]
        if not names.get("singular") and names.get("kind"):
            names["singular"] = names["kind"].lower()
        if not names.get("listKind") and names.get("kind"):
            names["listKind"] = f"{names['kind']}List"
        obj["spec"].setdefault("conversion", {"strategy": "None"})

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}
        _record_stored_version(obj)

    def prepare_update(self, new: Object, old: Object) -> None:
        super().prepare_update(new, old)
        _record_stored_version(new)

    def validate(self, obj: Object) -> list[StatusCause]:
        return list(definition_causes(obj))

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        return list(changed_definition_causes(new, old))

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        found = dict.fromkeys(_ineffective_fields(obj))
        known = set(_ineffective_fields(old)) if old else set()
        return [warning for warning in found if warning not in known]

    def prepare_delete(self, obj: Object) -> None:
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if CLEANUP not in finalizers:
            finalizers.append(CLEANUP)
        message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        set_condition(obj, "Terminating", "True", "InstanceDeletionPending", message, self._now())


def _record_stored_version(obj: Object) -> None:
    stored = obj["status"].get("storedVersions") or []
    storage = [version["name"] for version in obj["spec"].get("versions") or () if version.get("storage")]
    obj["status"]["storedVersions"] = stored + [name for name in storage[:1] if name not in stored] or None


def _ineffective_fields(obj: Object) -> Iterable[str]:
    """Warnings for what is accepted but has no effect here."""
    if (obj["spec"].get("conversion") or {}).get("strategy") == "Webhook":
        yield "spec.conversion.webhook: not called by this server; objects are the same in every version"
    for version in obj["spec"].get("versions") or ():
        yield from schema_warnings((version.get("schema") or {}).get("openAPIV3Schema") or {})


def set_condition(obj: Object, kind: str, status: str, reason: str, message: str, now: str) -> None:
    """Set one condition of a definition; its time is the last change of its status."""
    conditions = obj["status"].get("conditions") or []
    old: Json = next((each for each in conditions if each["type"] == kind), {})
    changed = old.get("lastTransitionTime", now) if old.get("status") == status else now
    new = {"type": kind, "status": status, "lastTransitionTime": changed, "reason": reason, "message": message}
    if old:
        conditions[conditions.index(old)] = new
    else:
        conditions.append(new)
    obj["status"]["conditions"] = conditions


def accept_names(obj: Object, others: Iterable[Object], now: str) -> bool:
    """Accept the definition's names unless another of its group has them; returns whether it is established."""
    conflict = _conflict(obj, others)
    if conflict:
        reason, name = conflict
        set_condition(obj, "NamesAccepted", "False", reason, f'"{name}" is already in use', now)
        if not _is_true(obj, "Established"):
            set_condition(obj, "Established", "False", "NotAccepted", "not all names are accepted", now)
        return _is_true(obj, "Established")
    obj["status"]["acceptedNames"] = dict(obj["spec"]["names"])
    set_condition(obj, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
    text = "the initial names have been accepted"
    set_condition(obj, "Established", "True", "InitialNamesAccepted", text, now)
    return True


def _is_true(obj: Object, kind: str) -> bool:
    conditions = obj["status"].get("conditions") or ()
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


def _conflict(obj: Object, others: Iterable[Object]) -> tuple[str, str] | None:
    wanted, taken_resources, taken_kinds = obj["spec"]["names"], set(), set()
    for other in others:
        names = other["status"].get("acceptedNames") or {}
        taken_resources |= {names.get("plural"), names.get("singular"), *(names.get("shortNames") or ())}
        taken_kinds |= {names.get("kind"), names.get("listKind")}
    for field, taken in (
        ("plural", taken_resources),
        ("singular", taken_resources),
        ("kind", taken_kinds),
        ("listKind", taken_kinds),
    ):
        if wanted.get(field) in taken:
            return f"{field[0].upper()}{field[1:]}Conflict", wanted[field]
    short = next((name for name in wanted.get("shortNames") or () if name in taken_resources), None)
    return ("ShortNamesConflict", short) if short else None
