"""How an object is to be deleted: options of the request, grace, and finalizers of the garbage collector."""

from __future__ import annotations

from typing import Final, NamedTuple

from bayplan.apiserver.meta import Marks
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.status import conflict, precondition_failed
from bayplan.apiserver.store import Entry
from bayplan.apiserver.strategy import Object, Strategy

BACKGROUND: Final = "Background"
FOREGROUND: Final = "Foreground"
ORPHAN: Final = "Orphan"
ORPHAN_FINALIZER: Final = "orphan"
FOREGROUND_FINALIZER: Final = "foregroundDeletion"


class DeleteOptions(NamedTuple):
    """What the body or the query of a deletion says."""

    grace_seconds: int | None = None
    uid: str | None = None
    version: str | None = None
    propagation: str | None = None
    orphan: bool | None = None
    dry_run: bool = False

    def check_preconditions(self, resource: Resource, obj: Object, *, in_storage: bool = True) -> None:
        """A 409 if the object is not the one that was meant, in the words of storage or of the kind itself."""
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


def _stored_group(resource: Resource) -> str:
    """Objects that are stored in another form are spoken of by that: events.k8s.io's by core's."""
    return "" if resource.storage else resource.group


class Deleted(NamedTuple):
    """What a deletion came to: the object's last state, and whether it is gone."""

    entry: Entry
    at_once: bool


class Grace(NamedTuple):
    """The grace of one deletion; `seconds` None where the kind has none."""

    seconds: int | None
    #: Deletion is under way and stays as it is.
    is_pending: bool = False
    #: Deletion is under way and is hurried up.
    is_shorter: bool = False

    def mark(self, marks: Marks, obj: Object) -> bool:
        """Write it into the object; False if there is nothing to write."""
        if self.seconds is None:
            return False
        if self.is_shorter:
            marks.hurry(obj, self.seconds)
        else:
            marks.deleting(obj, self.seconds)
        return True


def grace_for(strategy: Strategy, obj: Object, options: DeleteOptions) -> Grace:
    """Once deletion is under way, grace can only become shorter."""
    metadata = obj["metadata"]
    asked = options.grace_seconds
    if asked is not None and asked < 0:
        asked = 1
    seconds = strategy.grace_seconds(obj, asked)
    if seconds is None:
        return Grace(None)
    if "deletionTimestamp" not in metadata:
        return Grace(seconds)
    left = metadata.get("deletionGracePeriodSeconds")
    if not left:
        return Grace(None)
    if asked is None or asked >= left:
        return Grace(left, is_pending=True)
    return Grace(asked, is_shorter=True)


def with_collection_finalizers(obj: Object, options: DeleteOptions, *, orphan_by_default: bool = False) -> bool:
    """Put the garbage collector's finalizers as the options say; returns whether any finalizers are left."""
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
