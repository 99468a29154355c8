"""RestStrategy: what a kind adds to the generic registry: defaults, validation, what clients may change.

The registry calls the hooks in this order. Objects are dicts in Go's JSON form (the codec has dropped unknown,
null and empty fields), which hooks change in place. uid, creationTimestamp, namespace and a generated name are
set before the first hook:

    create:  default ▸ admission.admit ▸ prepare_create ▸ access_causes, validate ▸ admission.check ▸ store
    update:  default ▸ admission.admit ▸ prepare_update ▸ access_causes, validate_update ▸ admission.check ▸ store
    status:  default ▸ prepare_status_update ▸ access_causes, validate_status_update ▸ store

Metadata is validated along with the kind: by its `name_errors` and by `validation.metadata_validation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.validation.name_validation import subdomain_errors

if TYPE_CHECKING:
    from bayplan.apiserver.registry.attributes import AdmissionAttributes

Object: TypeAlias = dict[str, Any]


class RestStrategy:
    """The hooks, with the behaviour of a kind that has no rules of its own."""

    #: Whether metadata.generation starts at 1 and is incremented when anything but metadata and status changes.
    counts_generations = False
    #: Whether `status` is written through /status only.
    has_status = False
    #: Whether a PUT to a name that does not exist creates the object.
    allows_create_on_update = False
    #: Whether an update may omit the resourceVersion.
    allows_unconditional_update = True
    #: Whether a deletion returns the object instead of a Status.
    returns_deleted = False
    #: Field selectors besides metadata.name and metadata.namespace: the keys of `fields`.
    selectable_fields: tuple[str, ...] = ()
    #: Whether a first deletion only marks the object (`prepare_delete`) for controllers to clean up (namespaces).
    is_terminated_first = False
    #: Whether field selectors may use metadata.namespace.
    selects_namespace = True
    #: What Go prints as the spec of an empty object, which a bookmark has.
    empty_spec: Mapping[str, Any] = {}
    #: Whether `validate` also validates metadata; otherwise metadata is validated last.
    checks_metadata = True
    #: The warning for a deletion that orphans dependents by default; "" for kinds that never do.
    orphan_warning = ""
    #: Whether objects are stored in another form (`to_storage`).
    is_converted = False

    def name_errors(self, name: str, *, prefix: bool) -> list[str]:
        """Errors of a name, or of the prefix of a generated one."""
        return subdomain_errors(name, prefix=prefix)

    def default(self, obj: Object) -> None:
        """Set defaults."""

    def prepare_create(self, obj: Object) -> None:
        """Set what only the server may set."""

    def prepare_update(self, new: Object, old: Object) -> None:
        """Put back what this request may not change."""

    def prepare_status_update(self, new: Object, old: Object) -> None:
        """The same for a write through /status."""
        for key in old.keys() | new.keys():
            if key not in ("metadata", "status"):
                _put_back(new, old, key)

    def access_causes(self, attributes: AdmissionAttributes) -> list[StatusCause]:
        """Errors of a write that its namespace or its user does not allow; listed first."""
        return []

    def validate(self, obj: Object) -> list[StatusCause]:
        """Errors of a new object, apart from its metadata."""
        return []

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        """Errors of the change and of its result."""
        return self.validate(new)

    def validate_status_update(self, new: Object, old: Object) -> list[StatusCause]:
        """The same for a write through /status."""
        return []

    def finish(self, obj: Object) -> None:
        """Add what a new object has when it is read back from the store; after validation."""

    def grace_seconds(self, obj: Object, requested: int | None) -> int | None:
        """The grace period of a deletion, `requested` if the request has one; None for a kind without."""
        return None

    def prepare_delete(self, obj: Object) -> None:
        """Show that deletion has begun, besides metadata.deletionTimestamp; only with `is_terminated_first`."""

    def holds_deletion(self, obj: Object) -> bool:
        """Whether an object that is being terminated still has to be cleaned up."""
        return bool(obj["metadata"].get("finalizers"))

    def to_storage(self, obj: Object) -> Object:
        """The object in the form it is stored in; only where two resources share their objects."""
        return obj

    def from_storage(self, obj: Object) -> Object:
        """The object in the form of this resource."""
        return obj

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        """Warnings about an object that is valid."""
        return []

    def fields(self, obj: Object) -> Mapping[str, str]:
        """Values for field selectors, besides metadata.name and metadata.namespace."""
        return {}

    def unknown_field(self, label: str) -> str:
        """The error for a field selector with an unknown field."""
        if self.selectable_fields:
            return f"field label not supported: {label}"
        return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def _put_back(new: Object, old: Object, key: str) -> None:
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)


def keep_metadata(new: Object, old: Object) -> None:
    """For kinds whose status endpoint changes no metadata."""
    for key in ("labels", "annotations", "finalizers", "ownerReferences"):
        _put_back(new["metadata"], old["metadata"], key)


class StatusStrategy(RestStrategy):
    """A kind whose status is empty at first and written through /status only."""

    has_status = True
    counts_generations = True
    #: What Go prints of an empty status.
    empty_status: Mapping[str, Any] = {}

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = dict(self.empty_status)

    def prepare_update(self, new: Object, old: Object) -> None:
        _put_back(new, old, "status")
