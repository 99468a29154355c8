"""What a kind adds to the generic way of an object: defaults, rules, what clients may change.

`rest` calls the hooks in this order; objects are dicts in Go's JSON form (the codec has dropped unknown, null and
empty fields), which hooks change in place. Before the first of them uid, creationTimestamp, namespace and a
generated name are in:

    create:  default ▸ admission.admit ▸ prepare_create ▸ metadata rules, validate ▸ admission.check ▸ store
    update:  default ▸ admission.admit ▸ prepare_update ▸ metadata rules, validate_update ▸ admission.check ▸ store
    status:  default ▸ prepare_status_update ▸ metadata rules, validate_status_update ▸ store

The metadata rules of a kind are its `name_errors` and those of `strategies.metadata`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from bayplan.apiserver.names import subdomain_errors
from bayplan.apiserver.status import Cause

Object: TypeAlias = dict[str, Any]


class Strategy:
    """The hooks, with what is right for a kind without rules of its own."""

    #: Whether metadata.generation starts at 1 and rises when anything but metadata and status changes.
    counts_generations = False
    #: Whether `status` is written through /status only.
    has_status = False
    #: Whether a PUT to a name that does not exist creates the object.
    allows_create_on_update = False
    #: Whether an update may leave out the resourceVersion.
    allows_unconditional_update = True
    #: Whether a deletion answers with the object instead of a Status.
    returns_deleted = False
    #: What field selectors may name besides metadata.name and metadata.namespace: the keys of `fields`.
    selectable_fields: tuple[str, ...] = ()
    #: Whether a first deletion only marks the object (`prepare_delete`), for controllers to clean up (namespaces).
    is_terminated_first = False
    #: Whether field selectors may name metadata.namespace.
    selects_namespace = True
    #: What Go prints of the spec of an object without any content: that of a bookmark.
    empty_spec: Mapping[str, Any] = {}
    #: Whether `validate` finds what is wrong with metadata as well; else metadata is looked at last.
    checks_metadata = True
    #: Said when a deletion leaves the dependents behind without having been asked to; "" for kinds that never do.
    orphan_warning = ""
    #: Whether this is not the form that objects are stored in (`to_storage`).
    is_converted = False

    def name_errors(self, name: str, *, prefix: bool) -> list[str]:
        """What is wrong with a name, or with the prefix of one to be generated."""
        return subdomain_errors(name, prefix=prefix)

    def default(self, obj: Object) -> None:
        """Fill in what the user left out."""

    def prepare_create(self, obj: Object) -> None:
        """Set what only the server may set."""

    def prepare_update(self, new: Object, old: Object) -> None:
        """Put back what this request may not change."""

    def prepare_status_update(self, new: Object, old: Object) -> None:
        """The same for a write through /status."""
        for key in old.keys() | new.keys():
            if key not in ("metadata", "status"):
                _put_back(new, old, key)

    def validate(self, obj: Object) -> list[Cause]:
        """What is wrong with a new object, apart from its metadata."""
        return []

    def validate_update(self, new: Object, old: Object) -> list[Cause]:
        """What is wrong with the change and its result."""
        return self.validate(new)

    def validate_status_update(self, new: Object, old: Object) -> list[Cause]:
        """The same for a write through /status."""
        return []

    def finish(self, obj: Object) -> None:
        """What a new object has besides once it is read back from the store; after validation."""

    def grace_seconds(self, obj: Object, asked: int | None) -> int | None:
        """Seconds of grace that a deletion has, `asked` if the request says so; None for a kind without grace."""
        return None

    def prepare_delete(self, obj: Object) -> None:
        """Show that deletion has begun, besides metadata.deletionTimestamp; only with `is_terminated_first`."""

    def holds_deletion(self, obj: Object) -> bool:
        """Whether somebody has yet to finish with an object that is being terminated."""
        return bool(obj["metadata"].get("finalizers"))

    def to_storage(self, obj: Object) -> Object:
        """The object in the form it is stored in; only where two resources share their objects."""
        return obj

    def from_storage(self, obj: Object) -> Object:
        """The object in the form of this resource."""
        return obj

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        """What the user should know although it is allowed."""
        return []

    def fields(self, obj: Object) -> Mapping[str, str]:
        """Values that field selectors may name, besides metadata.name and metadata.namespace."""
        return {}

    def unknown_field(self, label: str) -> str:
        """The refusal of a field selector that names something else."""
        if self.selectable_fields:
            return f"field label not supported: {label}"
        return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def _put_back(new: Object, old: Object, key: str) -> None:
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)


class StatusStrategy(Strategy):
    """A kind whose status is empty at first and written through /status only."""

    has_status = True
    counts_generations = True
    #: What Go prints of a status that is empty.
    empty_status: Mapping[str, Any] = {}

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = dict(self.empty_status)

    def prepare_update(self, new: Object, old: Object) -> None:
        _put_back(new, old, "status")
