"""How an object is deleted: options of the request, grace period, and finalizers of the garbage collector."""

from __future__ import annotations

from typing import Final, NamedTuple

from bayplan.apiserver.api_errors import conflict, precondition_failed
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.registry.system_metadata import MetadataStamper
from bayplan.apiserver.storage.versioned_store import StoredObject

BACKGROUND: Final = "Background"
FOREGROUND: Final = "Foreground"
ORPHAN: Final = "Orphan"
ORPHAN_FINALIZER: Final = "orphan"
FOREGROUND_FINALIZER: Final = "foregroundDeletion"


class DeleteOptions(NamedTuple):
    """Options in the body or the query of a deletion."""

    grace_seconds: int | None = None
    uid: str | None = None
    version: str | None = None
    propagation: str | None = None
    orphan: bool | None = None
    dry_run: bool = False

    def check_preconditions(self, resource: ApiResource, obj: Object, *, in_storage: bool = True) -> None:
        """Raise a 409 if the object does not meet the preconditions, worded as by storage or by the kind."""
        metadata = obj["metadata"]
        group, kind = _stored_group(resource), resource.kind if in_storage else resource.plural
        for what, wanted, known, after in (
            ("UID", self.uid, metadata["uid"], "deleted and then recreated"),
            ("ResourceVersion", self.version, metadata["resourceVersion"], "modified"),
        ):
            if wanted is None or wanted == known:
                continue
            why = precondition_failed(what, wanted, known)
            if in_storage:
                why = (
                    f"the {what} in the precondition ({wanted}) does not match the {what} in record ({known}). "
                    f"The object might have been {after}"
                )
            raise conflict(group, kind, metadata["name"], why)


def _stored_group(resource: ApiResource) -> str:
    """Messages name the stored form of an object: events of events.k8s.io are named as core's."""
    return "" if resource.storage else resource.group


class DeletionResult(NamedTuple):
    """The result of a deletion: the object's last state, and whether it is gone."""

    entry: StoredObject
    is_immediate: bool


class GracePeriod(NamedTuple):
    """The grace period of one deletion; `seconds` is None for kinds without one."""

    seconds: int | None
    #: Deletion is under way and does not change.
    is_pending: bool = False
    #: Deletion is under way and gets shorter.
    is_shorter: bool = False

    def mark(self, stamper: MetadataStamper, obj: Object) -> bool:
        """Write it into the object; returns False if there is nothing to write."""
        if self.seconds is None:
            return False
        if self.is_shorter:
            stamper.shorten_grace(obj, self.seconds)
        else:
            stamper.stamp_deletion(obj, self.seconds)
        return True


def grace_for(strategy: RestStrategy, obj: Object, options: DeleteOptions) -> GracePeriod:
    """The grace period of a deletion; once deletion is under way it can only become shorter."""
    metadata = obj["metadata"]
    requested = options.grace_seconds
    if requested is not None and requested < 0:
        requested = 1
    seconds = strategy.grace_seconds(obj, requested)
    if seconds is None:
        return GracePeriod(None)
    if "deletionTimestamp" not in metadata:
        return GracePeriod(seconds)
    left = metadata.get("deletionGracePeriodSeconds")
    if not left:
        return GracePeriod(None)
    if requested is None or requested >= left:
        return GracePeriod(left, is_pending=True)
    return GracePeriod(requested, is_shorter=True)


def with_collection_finalizers(obj: Object, options: DeleteOptions, *, orphan_by_default: bool = False) -> bool:
    """Set the garbage collector's finalizers as the options say; returns whether any finalizers remain."""
    metadata = obj["metadata"]
    finalizers = metadata.get("finalizers", [])
    wanted = _collection_finalizer(finalizers, options) or (
        ORPHAN_FINALIZER if orphan_by_default and options.orphan is None and options.propagation is None else ""
    )
    kept = [each for each in finalizers if each not in (ORPHAN_FINALIZER, FOREGROUND_FINALIZER)]
    if wanted:
        kept.append(wanted)
    if set(kept) != set(finalizers):
        metadata["finalizers"] = kept
        if not kept:
            del metadata["finalizers"]
    return bool(kept)


def _collection_finalizer(finalizers: list[str], options: DeleteOptions) -> str:
    if options.orphan is not None:
        return ORPHAN_FINALIZER if options.orphan else ""
    if options.propagation is not None:
        return {ORPHAN: ORPHAN_FINALIZER, FOREGROUND: FOREGROUND_FINALIZER}.get(options.propagation, "")
    return next((each for each in finalizers if each in (ORPHAN_FINALIZER, FOREGROUND_FINALIZER)), "")
