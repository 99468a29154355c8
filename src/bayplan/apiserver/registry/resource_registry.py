"""ResourceRegistry: creates, reads, updates and deletes objects of every kind.

Called by `rest`, and by subresources and controllers inside the server. What differs between kinds is in their
`RestStrategy`; admission runs between strategy and storage. In: objects as dicts with kind and apiVersion.
Out: a `StoredObject`, because responses are built from its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from bayplan.apiserver.api_errors import (
    StatusCause,
    StatusError,
    already_exists,
    conflict,
    invalid,
    not_found,
    not_stored,
    precondition_failed,
)
from bayplan.apiserver.apply import OwnershipTracker
from bayplan.apiserver.registry import system_metadata
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.attributes import CREATE, DELETE, UPDATE, Admission, AdmissionAttributes
from bayplan.apiserver.registry.deletion import (
    DeleteOptions,
    DeletionResult,
    grace_for,
    with_collection_finalizers,
)
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.storage.versioned_store import Key, StoredObject, VersionedStore
from bayplan.apiserver.transport.api_messages import ADMIN, UserInfo
from bayplan.apiserver.validation.metadata_validation import creation_causes, validate_metadata_update

MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"

#: Computes the new state of an object from the stored one.
Mutation: TypeAlias = Callable[[StoredObject], Object]


class _DiscardedWarnings(list[str]):
    """A list of warnings that discards what is added."""

    def extend(self, texts: Iterable[str]) -> None:
        """Discard them."""

    append = extend


class WriteContext(NamedTuple):
    """The user and options of a write; warnings for the client are collected in `warnings`."""

    user: UserInfo = ADMIN
    dry_run: bool = False
    warnings: list[str] = _DiscardedWarnings()
    #: The manager's name in managedFields.
    field_manager: str = "bayplan"
    #: The verb of the request, as RBAC knows it.
    verb: str = ""


INTERNAL_WRITE: Final = WriteContext()


class ResourceRegistry:
    """See the module docstring."""

    def __init__(
        self,
        store: VersionedStore,
        stamper: system_metadata.MetadataStamper,
        strategy_of: Callable[[ApiResource], RestStrategy],
        admission: Admission,
        ownership: OwnershipTracker,
    ) -> None:
        self.store = store
        self.ownership = ownership
        self.stamper = stamper
        self.strategy_of = strategy_of
        self.admission = admission

    # --- reading ----------------------------------------------------------------------------------

    def find(self, resource: ApiResource, namespace: str, name: str) -> StoredObject | None:
        return self.store.get(Key(resource.stored_as, namespace, name))

    def entry(self, resource: ApiResource, namespace: str, name: str) -> StoredObject:
        """The stored object; a 404 if there is none."""
        entry = self.find(resource, namespace, name)
        if entry is None:
            raise not_found(resource.group, resource.plural, name)
        return entry

    def get(self, resource: ApiResource, namespace: str, name: str) -> Object:
        """A copy of the object that may be changed; a 404 if there is none."""
        return self.decoded(resource, self.entry(resource, namespace, name))

    def decoded(self, resource: ApiResource, entry: StoredObject) -> Object:
        """The stored object, decoded in the form of *resource*."""
        obj: Object = {"kind": resource.kind, "apiVersion": resource.api_version, **entry.decode()}
        strategy = self.strategy_of(resource)
        return strategy.from_storage(obj) if strategy.is_converted else obj

    def with_owners(self, entry: StoredObject) -> StoredObject:
        """The stored object with its managedFields, which may be recorded elsewhere."""
        if not self.ownership.has_records(entry.key):
            return entry
        shown = self.ownership.shown(entry.key, entry.decode())
        return msgspec.structs.replace(entry, data=msgspec.json.encode(shown))

    # --- writing without validation ---------------------------------------------------------------

    def write(self, resource: ApiResource, obj: Object, *, dry_run: bool = False) -> StoredObject:
        """Store the object as it is."""
        strategy = self.strategy_of(resource)
        if strategy.is_converted:
            obj = strategy.to_storage(obj)
        metadata = obj["metadata"]
        key = Key(resource.stored_as, metadata.get("namespace", ""), metadata["name"])
        fields = strategy.fields(obj)
        return self.store.draft(key, obj, fields) if dry_run else self.store.put(key, obj, fields)

    def remove(self, resource: ApiResource, entry: StoredObject, *, dry_run: bool = False) -> StoredObject:
        """Delete the object immediately; returns its last state under the version of the deletion."""
        if dry_run:
            return entry
        change = self.store.delete(entry.key)
        self.ownership.forget(entry.key)
        return StoredObject(entry.key, change.version, entry.data_at(change.version), entry.labels, entry.fields)

    # --- create -----------------------------------------------------------------------------------

    def create(
        self, resource: ApiResource, namespace: str, obj: Object, context: WriteContext = INTERNAL_WRITE
    ) -> StoredObject:
        """Create an object that is decoded and defaulted already."""
        strategy = self.strategy_of(resource)
        metadata = obj["metadata"]
        # 1. Set the metadata that only the server sets.
        system_metadata.place_in_namespace(obj, namespace if resource.namespaced else "")
        generates = bool(metadata.get("generateName"))
        self.stamper.stamp_creation(obj)
        context.warnings.extend(system_metadata.drop_duplicate_owners(obj))
        created = self.ownership.creation(resource, obj, context.field_manager)
        # 2. Admission may change the object, then the kind prepares it.
        attributes = self._attributes(CREATE, resource, namespace, obj, None, context)
        self.admission.admit(attributes)
        if strategy.counts_generations:
            metadata["generation"] = 1
        strategy.prepare_create(obj)
        # 3. Validate.
        causes = strategy.access_causes(attributes) + creation_causes(obj, resource, strategy)
        self._refuse(resource, obj, causes)
        self.admission.check(attributes)
        strategy.finish(obj)
        context.warnings.extend(strategy.warnings(obj, None))
        # 4. Store.
        self._check_absent(resource, obj, generates=generates)
        if metadata.get("resourceVersion"):
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        entry = self.write(resource, obj, dry_run=context.dry_run)
        if not context.dry_run:
            self.ownership.begin(entry.key, created)
        return entry

    def _check_absent(self, resource: ApiResource, obj: Object, *, generates: bool) -> None:
        metadata = obj["metadata"]
        name = metadata["name"]
        there = self.find(resource, metadata.get("namespace", ""), name)
        if there is None:
            return
        error = already_exists(resource.group, resource.plural, name)
        if generates:
            error.message += ", the server was not able to generate a unique name for the object"
            error.retry_after_seconds = 1
            error.details = {**(error.details or {}), "retryAfterSeconds": 1}
        elif "deletionTimestamp" in there.decode()["metadata"]:
            error.message = f"object is being deleted: {error.message}"
        raise error

    # --- update -----------------------------------------------------------------------------------

    def update(
        self,
        resource: ApiResource,
        namespace: str,
        name: str,
        change: Mutation,
        context: WriteContext = INTERNAL_WRITE,
        *,
        subresource: str = "",
        make: Callable[[], Object] | None = None,
        is_apply: bool = False,
    ) -> tuple[StoredObject, bool]:
        """Change an object; if it does not exist, *make* creates it. Returns whether it was created.

        For an apply, the change itself computes the managers.
        """
        entry = self.find(resource, namespace, name)
        if entry is None:
            if make is None:
                raise not_found(resource.group, resource.plural, name)
            return self.create(resource, namespace, make(), context), True
        old = self.decoded(resource, entry)
        new = change(entry)
        context.warnings.extend(system_metadata.drop_duplicate_owners(new))
        manager = context.field_manager
        recorded = None if is_apply else self.ownership.change(resource, entry.key, old, new, manager, subresource)
        owners = new["metadata"].get("managedFields")
        attributes = self._attributes(UPDATE, resource, namespace, new, old, context, subresource)
        # 1. Check that the object is the one that the client means.
        self.admission.admit(attributes)
        self._check_version(resource, new, entry)
        # 2. Put back what this request may not change.
        self._prepare_update(resource, new, old, namespace, subresource)
        if owners:
            new["metadata"]["managedFields"] = owners
        # 3. Validate.
        access_causes = self.strategy_of(resource).access_causes(attributes)
        self._refuse(resource, new, access_causes + self._update_causes(resource, new, old, subresource))
        self.admission.check(attributes)
        if not subresource:
            context.warnings.extend(self.strategy_of(resource).warnings(new, old))
        # 4. Store, or remove an object whose last finalizer is gone; an unchanged object is not stored.
        if _is_finished(new, old) and not self.strategy_of(resource).holds_deletion(new):
            return self._finished(resource, entry, new, context), False
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        if new == old:
            return self.with_owners(entry), False
        written = self.write(resource, new, dry_run=context.dry_run)
        if not context.dry_run:
            self.ownership.record(written.key, recorded)
        return written, False

    def _prepare_update(
        self, resource: ApiResource, new: Object, old: Object, namespace: str, subresource: str
    ) -> None:
        strategy = self.strategy_of(resource)
        system_metadata.place_in_namespace(new, namespace if resource.namespaced else "")
        system_metadata.keep_generation(new, old)
        if subresource == "status":
            strategy.prepare_status_update(new, old)
        else:
            strategy.prepare_update(new, old)
            if strategy.counts_generations:
                system_metadata.count_generation(new, old)
        system_metadata.keep_system_fields(new, old)

    def _update_causes(
        self, resource: ApiResource, new: Object, old: Object, subresource: str
    ) -> list[StatusCause]:
        strategy = self.strategy_of(resource)
        causes = validate_metadata_update(new, old, resource)
        if subresource == "status":
            return causes + strategy.validate_status_update(new, old)
        return causes + strategy.validate_update(new, old)

    def same_object(self, resource: ApiResource, new: Object, entry: StoredObject) -> Object:
        """Check a whole new state; a 409 if it is meant for another object of that name."""
        requested, there = new["metadata"].get("uid"), entry.uid
        if requested and requested != there:
            key = resource.etcd_key(entry.key.namespace, entry.key.name)
            why = not_stored(key, precondition_failed("UID", requested, there))
            raise conflict(resource.group, resource.plural, entry.key.name, why)
        return new

    def _check_version(self, resource: ApiResource, new: Object, entry: StoredObject) -> None:
        requested = new["metadata"].get("resourceVersion", "")
        if requested in ("", "0"):
            if self.strategy_of(resource).allows_unconditional_update:
                return
            message = "Invalid value: 0: must be specified for an update"
            cause = StatusCause("metadata.resourceVersion", "FieldValueInvalid", message)
            raise invalid(resource.group, resource.plural, entry.key.name, [cause])
        if requested != str(entry.version):
            if not requested.isdecimal():
                raise StatusError(500, "", f'strconv.ParseUint: parsing "{requested}": invalid syntax')
            raise conflict(resource.group, resource.plural, entry.key.name, MODIFIED)

    def _finished(
        self, resource: ApiResource, entry: StoredObject, new: Object, context: WriteContext
    ) -> StoredObject:
        """The object as it would have been stored."""
        last = self.store.draft(entry.key, new, {})
        self.remove(resource, entry, dry_run=context.dry_run)
        return last

    # --- delete -----------------------------------------------------------------------------------

    def delete(
        self,
        resource: ApiResource,
        namespace: str,
        name: str,
        options: DeleteOptions = DeleteOptions(),  # noqa: B008  immutable
        context: WriteContext = INTERNAL_WRITE,
    ) -> DeletionResult:
        """Delete the object, or begin to if it has a grace period or finalizers."""
        entry = self.entry(resource, namespace, name)
        obj = self.decoded(resource, entry)
        strategy = self.strategy_of(resource)
        options.check_preconditions(resource, obj, in_storage=not strategy.is_terminated_first)
        self.admission.check(self._attributes(DELETE, resource, namespace, None, obj, context))
        if strategy.is_terminated_first:
            if "deletionTimestamp" not in obj["metadata"]:
                self.stamper.stamp_termination(obj)
                strategy.prepare_delete(obj)
                with_collection_finalizers(obj, options)
                return DeletionResult(self.write(resource, obj, dry_run=context.dry_run), is_immediate=False)
            if strategy.holds_deletion(obj):
                return DeletionResult(entry, is_immediate=False)
        # 1. Determine the grace period, and whether deletion is already under way.
        grace = grace_for(strategy, obj, options)
        if grace.is_pending:
            return DeletionResult(entry, is_immediate=not strategy.returns_deleted)
        # 2. Mark the object and set finalizers.
        marked = grace.mark(self.stamper, obj)
        held = with_collection_finalizers(obj, options, orphan_by_default=bool(strategy.orphan_warning))
        if held and not marked:
            self.stamper.stamp_held_deletion(obj)
        if marked or held:
            entry = self.write(resource, obj, dry_run=context.dry_run)
            if held or grace.seconds:
                return DeletionResult(entry, is_immediate=False)
        # 3. Remove it.
        return DeletionResult(self.remove(resource, entry, dry_run=context.dry_run), is_immediate=True)

    # --- internals --------------------------------------------------------------------------------

    def _attributes(
        self,
        operation: str,
        resource: ApiResource,
        namespace: str,
        obj: Object | None,
        old: Object | None,
        context: WriteContext,
        subresource: str = "",
    ) -> AdmissionAttributes:
        metadata: Mapping[str, Any] = (obj or old or {})["metadata"]
        return AdmissionAttributes(
            operation=operation,
            resource=resource,
            namespace=namespace,
            name=metadata.get("name", ""),
            obj=obj,
            old=old,
            subresource=subresource,
            user=context.user,
            verb=context.verb,
            dry_run=context.dry_run,
            warnings=context.warnings,
        )

    def _refuse(self, resource: ApiResource, obj: Object, causes: list[StatusCause]) -> None:
        if causes:
            raise invalid(resource.group, resource.kind, obj["metadata"].get("name", ""), causes)


def _is_finished(new: Object, old: Object) -> bool:
    """Whether an update removed the last finalizer of an object that is otherwise deleted."""
    before = old["metadata"]
    return (
        "deletionTimestamp" in before
        and not new["metadata"].get("finalizers")
        and not before.get("deletionGracePeriodSeconds")
    )
