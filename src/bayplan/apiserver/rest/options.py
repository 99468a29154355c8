"""Options of creates, updates and patches: dryRun, fieldValidation, fieldManager."""

from __future__ import annotations

from typing import Final

import msgspec

from bayplan.apiserver.api_errors import StatusCause, invalid
from bayplan.apiserver.registry.resource_registry import WriteContext
from bayplan.apiserver.transport.api_messages import ApiRequest
from bayplan.apiserver.validation.field_errors import forbidden, not_supported, required
from bayplan.apiserver.validation.field_errors import invalid as invalid_value

WARN: Final = "Warn"
STRICT: Final = "Strict"
IGNORE: Final = "Ignore"
#: Request type → the name of its options in errors.
CREATE_OPTIONS: Final = "CreateOptions"
UPDATE_OPTIONS: Final = "UpdateOptions"
PATCH_OPTIONS: Final = "PatchOptions"
_MAX_MANAGER: Final = 128


class WriteOptions(msgspec.Struct, frozen=True):
    """Options in the query of a write."""

    dry_run: bool = False
    field_validation: str = WARN
    field_manager: str = ""
    force: bool = False

    def context(self, request: ApiRequest, warnings: list[str]) -> WriteContext:
        manager = self.field_manager or manager_of(request.user_agent)
        verb = "patch" if request.method == "PATCH" else "update"
        return WriteContext(request.user, self.dry_run, warnings, manager, verb)


_DEFAULT: Final = WriteOptions()


def read_write_options(request: ApiRequest, kind: str) -> WriteOptions:
    """The validated options of a create, update or patch."""
    if not request.query:
        return _DEFAULT
    dry_run = list(request.query.get("dryRun", ()))
    validation = request.first("fieldValidation")
    manager = request.first("fieldManager")
    causes = [*_manager_causes(manager), *dry_run_causes(dry_run)]
    if validation not in ("", IGNORE, STRICT, WARN):
        causes.append(not_supported("fieldValidation", validation, ("", IGNORE, STRICT, WARN)))
    if causes:
        raise invalid("meta.k8s.io", kind, "", causes)
    force = request.first("force").lower() in ("true", "1")
    return WriteOptions(bool(dry_run), validation or WARN, manager, force)


def read_patch_options(request: ApiRequest, *, applies: bool) -> WriteOptions:
    """The validated options of a patch; an apply needs a field manager, and only an apply can be forced."""
    options = read_write_options(request, PATCH_OPTIONS)
    causes = []
    if applies and not options.field_manager:
        causes.append(required("fieldManager", "is required for apply patch"))
    if not applies and "force" in request.query:
        causes.append(forbidden("force", "may not be specified for non-apply patch"))
    if causes:
        raise invalid("meta.k8s.io", PATCH_OPTIONS, "", causes)
    return options


def _manager_causes(manager: str) -> list[StatusCause]:
    if len(manager) > _MAX_MANAGER:
        message = f"Too long: may not be more than {_MAX_MANAGER} bytes"
        return [StatusCause("fieldManager", "FieldValueTooLong", message)]
    for i, character in enumerate(manager):
        if not character.isprintable():
            return [
                invalid_value(
                    "fieldManager", manager, f"invalid character U+{ord(character):04X} (at position {i})"
                )
            ]
    return []


def dry_run_causes(dry_run: list[str]) -> list[StatusCause]:
    """`All` is the only value."""
    return [] if set(dry_run) <= {"All"} else [not_supported("dryRun", dry_run, ("All",))]


def manager_of(user_agent: str) -> str:
    """The default field manager: the program that sent the request."""
    return user_agent.partition("/")[0] or "unknown"
