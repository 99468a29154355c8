"""The generic way of an object into the store and out of it, the same for every kind: what `rest` calls, and what
subresources and controllers inside the server may call as well.

The kind's own part is its `Strategy`; admission stands between the two. Objects in flight are dicts with kind and
apiVersion; what comes back is an `Entry`, because an answer is made of its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from bayplan.apiserver import meta
from bayplan.apiserver.apply import Ownership
from bayplan.apiserver.attributes import CREATE, DELETE, UPDATE, Admission, Attributes
from bayplan.apiserver.deletion import Deleted, DeleteOptions, grace_for, with_collection_finalizers
from bayplan.apiserver.exchange import ADMIN, User
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.status import (
    Cause,
    StatusError,
    already_exists,
    conflict,
    invalid,
    not_found,
    not_stored,
    precondition_failed,
)
from bayplan.apiserver.store import Entry, Key, Store
from bayplan.apiserver.strategies.metadata import creation_causes, validate_metadata_update
from bayplan.apiserver.strategy import Object, Strategy

MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"

#: Makes the new state of an object from the stored one.
Change: TypeAlias = Callable[[Entry], Object]


class _Unheard(list[str]):
    """Texts that nobody will read."""

    def extend(self, texts: Iterable[str]) -> None:
        """Forget them."""

    append = extend


class Asking(NamedTuple):
    """Who writes, and how; texts for the client are collected in `warnings`."""

    user: User = ADMIN
    dry_run: bool = False
    warnings: list[str] = _Unheard()
    #: Named in managedFields.
    field_manager: str = "bayplan"


INSIDE: Final = Asking()


class Registry:
    """See the module's text."""

    def __init__(
        self,
        store: Store,
        marks: meta.Marks,
        strategy_of: Callable[[Resource], Strategy],
        admission: Admission,
        ownership: Ownership,
    ) -> None:
        self.store = store
        self.ownership = ownership
        self.marks = marks
        self.strategy_of = strategy_of
        self.admission = admission

    # --- reading ----------------------------------------------------------------------------------

    def find(self, resource: Resource, namespace: str, name: str) -> Entry | None:
        return self.store.get(Key(resource.stored_as, namespace, name))

    def entry(self, resource: Resource, namespace: str, name: str) -> Entry:
        """The stored object, or a 404."""
        entry = self.find(resource, namespace, name)
        if entry is None:
            raise not_found(resource.group, resource.plural, name)
        return entry

    def get(self, resource: Resource, namespace: str, name: str) -> Object:
        """A copy of the object that may be changed, or a 404."""
        return self.decoded(resource, self.entry(resource, namespace, name))

    def decoded(self, resource: Resource, entry: Entry) -> Object:
        """What is stored, as an object of *resource*."""
        obj: Object = {"kind": resource.kind, "apiVersion": resource.api_version, **entry.decode()}
        strategy = self.strategy_of(resource)
        return strategy.from_storage(obj) if strategy.is_converted else obj

    def with_owners(self, entry: Entry) -> Entry:
        """What is stored, with managedFields that are noted elsewhere."""
        if not self.ownership.has_notes(entry.key):
            return entry
        shown = self.ownership.shown(entry.key, entry.decode())
        return msgspec.structs.replace(entry, data=msgspec.json.encode(shown))

    # --- writing, below all rules -----------------------------------------------------------------

    def write(self, resource: Resource, obj: Object, *, dry_run: bool = False) -> Entry:
        """Store the object as it is."""
        strategy = self.strategy_of(resource)
        if strategy.is_converted:
            obj = strategy.to_storage(obj)
        metadata = obj["metadata"]
        key = Key(resource.stored_as, metadata.get("namespace", ""), metadata["name"])
        fields = strategy.fields(obj)
        return self.store.draft(key, obj, fields) if dry_run else self.store.put(key, obj, fields)

    def remove(self, resource: Resource, entry: Entry, *, dry_run: bool = False) -> Entry:
        """Delete the object at once; returns its last state under the version of the deletion."""
        if dry_run:
            return entry
        change = self.store.delete(entry.key)
        self.ownership.forget(entry.key)
        return Entry(entry.key, change.version, entry.data_at(change.version), entry.labels, entry.fields)

    # --- create -----------------------------------------------------------------------------------

    def create(self, resource: Resource, namespace: str, obj: Object, asking: Asking = INSIDE) -> Entry:
        """A new object, decoded and defaulted already."""
        strategy = self.strategy_of(resource)
        metadata = obj["metadata"]
        # 1. What the server says of it.
        meta.place_in_namespace(obj, namespace if resource.namespaced else "")
        generates = bool(metadata.get("generateName"))
        self.marks.created(obj)
        asking.warnings.extend(meta.drop_duplicate_owners(obj))
        created = self.ownership.creation(resource, obj, asking.field_manager)
        # 2. Admission may change it, the kind prepares it.
        attributes = self._attributes(CREATE, resource, namespace, obj, None, asking)
        self.admission.admit(attributes)
        if strategy.counts_generations:
            metadata["generation"] = 1
        strategy.prepare_create(obj)
        # 3. The rules.
        causes = creation_causes(obj, resource, strategy)
        self._refuse(resource, obj, causes)
        self.admission.check(attributes)
        strategy.finish(obj)
        asking.warnings.extend(strategy.warnings(obj, None))
        # 4. The store.
        self._check_absent(resource, obj, generates=generates)
        if metadata.get("resourceVersion"):
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        entry = self.write(resource, obj, dry_run=asking.dry_run)
        if not asking.dry_run:
            self.ownership.begin(entry.key, created)
        return entry

    def _check_absent(self, resource: Resource, obj: Object, *, generates: bool) -> None:
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
        resource: Resource,
        namespace: str,
        name: str,
        change: Change,
        asking: Asking = INSIDE,
        *,
        subresource: str = "",
        make: Callable[[], Object] | None = None,
        is_apply: bool = False,
    ) -> tuple[Entry, bool]:
        """A new state of an object; where there is none, *make* makes it. Returns whether it was made.

        Of an apply, the change itself says who owns what.
        """
        entry = self.find(resource, namespace, name)
        if entry is None:
            if make is None:
                raise not_found(resource.group, resource.plural, name)
            return self.create(resource, namespace, make(), asking), True
        old = self.decoded(resource, entry)
        new = change(entry)
        asking.warnings.extend(meta.drop_duplicate_owners(new))
        manager = asking.field_manager
        step = None if is_apply else self.ownership.step(resource, entry.key, old, new, manager, subresource)
        owners = new["metadata"].get("managedFields")
        attributes = self._attributes(UPDATE, resource, namespace, new, old, asking, subresource)
        # 1. Is it what the client thinks it is?
        self.admission.admit(attributes)
        self._check_version(resource, new, entry)
        # 2. What this request may not change is as it was.
        self._prepare_update(resource, new, old, namespace, subresource)
        if owners:
            new["metadata"]["managedFields"] = owners
        # 3. The rules.
        self._refuse(resource, new, self._update_causes(resource, new, old, subresource))
        self.admission.check(attributes)
        if not subresource:
            asking.warnings.extend(self.strategy_of(resource).warnings(new, old))
        # 4. The store, or the end of an object whose last finalizer is gone; what changes nothing is not stored.
        if _is_finished(new, old):
            return self._finished(resource, entry, new, asking), False
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        if new == old:
            return self.with_owners(entry), False
        written = self.write(resource, new, dry_run=asking.dry_run)
        if not asking.dry_run:
            self.ownership.record(written.key, step)
        return written, False

    def _prepare_update(
        self, resource: Resource, new: Object, old: Object, namespace: str, subresource: str
    ) -> None:
        strategy = self.strategy_of(resource)
        meta.place_in_namespace(new, namespace if resource.namespaced else "")
        meta.keep_generation(new, old)
        if subresource == "status":
            strategy.prepare_status_update(new, old)
        else:
            strategy.prepare_update(new, old)
            if strategy.counts_generations:
                meta.count_generation(new, old)
        meta.keep_system_fields(new, old)

    def _update_causes(self, resource: Resource, new: Object, old: Object, subresource: str) -> list[Cause]:
        strategy = self.strategy_of(resource)
        causes = validate_metadata_update(new, old, resource)
        if subresource == "status":
            return causes + strategy.validate_status_update(new, old)
        return causes + strategy.validate_update(new, old)

    def same_object(self, resource: Resource, new: Object, entry: Entry) -> Object:
        """A whole new state; a 409 if it is meant for another object of that name."""
        asked, there = new["metadata"].get("uid"), entry.uid
        if asked and asked != there:
            key = resource.etcd_key(entry.key.namespace, entry.key.name)
            why = not_stored(key, precondition_failed("UID", asked, there))
            raise conflict(resource.group, resource.plural, entry.key.name, why)
        return new

    def _check_version(self, resource: Resource, new: Object, entry: Entry) -> None:
        asked = new["metadata"].get("resourceVersion", "")
        if asked in ("", "0"):
            if self.strategy_of(resource).allows_unconditional_update:
                return
            message = "Invalid value: 0: must be specified for an update"
            cause = Cause("metadata.resourceVersion", "FieldValueInvalid", message)
            raise invalid(resource.group, resource.plural, entry.key.name, [cause])
        if asked != str(entry.version):
            if not asked.isdecimal():
                raise StatusError(500, "", f'strconv.ParseUint: parsing "{asked}": invalid syntax')
            raise conflict(resource.group, resource.plural, entry.key.name, MODIFIED)

    def _finished(self, resource: Resource, entry: Entry, new: Object, asking: Asking) -> Entry:
        """The answer is the object as it would have been stored."""
        last = self.store.draft(entry.key, new, {})
        self.remove(resource, entry, dry_run=asking.dry_run)
        return last

    # --- delete -----------------------------------------------------------------------------------

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        options: DeleteOptions = DeleteOptions(),  # noqa: B008  immutable
        asking: Asking = INSIDE,
    ) -> Deleted:
        """Delete, or begin to: grace, finalizers and controllers may have a say."""
        entry = self.entry(resource, namespace, name)
        obj = self.decoded(resource, entry)
        strategy = self.strategy_of(resource)
        options.check_preconditions(resource, obj, in_storage=not strategy.is_terminated_first)
        self.admission.check(self._attributes(DELETE, resource, namespace, None, obj, asking))
        if strategy.is_terminated_first:
            if "deletionTimestamp" not in obj["metadata"]:
                self.marks.terminated(obj)
                strategy.prepare_delete(obj)
                with_collection_finalizers(obj, options)
                return Deleted(self.write(resource, obj, dry_run=asking.dry_run), at_once=False)
            if strategy.holds_deletion(obj):
                return Deleted(entry, at_once=False)
        # 1. Is there grace, and is it under way already?
        grace = grace_for(strategy, obj, options)
        if grace.is_pending:
            return Deleted(entry, at_once=not strategy.returns_deleted)
        # 2. Mark it, and give the garbage collector and other finalizers their say.
        marked = grace.mark(self.marks, obj)
        held = with_collection_finalizers(obj, options, orphan_by_default=bool(strategy.orphan_warning))
        if held and not marked:
            self.marks.held(obj)
        if marked or held:
            entry = self.write(resource, obj, dry_run=asking.dry_run)
            if held or grace.seconds:
                return Deleted(entry, at_once=False)
        # 3. Gone.
        return Deleted(self.remove(resource, entry, dry_run=asking.dry_run), at_once=True)

    # --- inside -----------------------------------------------------------------------------------

    def _attributes(
        self,
        operation: str,
        resource: Resource,
        namespace: str,
        obj: Object | None,
        old: Object | None,
        asking: Asking,
        subresource: str = "",
    ) -> Attributes:
        metadata: Mapping[str, Any] = (obj or old or {})["metadata"]
        return Attributes(
            operation=operation,
            resource=resource,
            namespace=namespace,
            name=metadata.get("name", ""),
            obj=obj,
            old=old,
            subresource=subresource,
            user=asking.user,
            dry_run=asking.dry_run,
            warnings=asking.warnings,
        )

    def _refuse(self, resource: Resource, obj: Object, causes: list[Cause]) -> None:
        if causes:
            raise invalid(resource.group, resource.kind, obj["metadata"].get("name", ""), causes)


def _is_finished(new: Object, old: Object) -> bool:
    """Whether an update took the last finalizer off an object that is otherwise deleted."""
    before = old["metadata"]
    return (
        "deletionTimestamp" in before
        and not new["metadata"].get("finalizers")
        and not before.get("deletionGracePeriodSeconds")
    )
