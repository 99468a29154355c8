"""Metadata that only the server writes: uid, creationTimestamp, generated names, generation, deletion times."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from bayplan.apiserver.api_errors import bad_request
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.model.times import format_time, parse_time

#: No vowels and no look-alikes, so that generated names form no words.
_SUFFIX_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_MAX_GENERATED: Final = 63
#: Fields that a client cannot set on a new object.
_SYSTEM_FIELDS: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
#: Fields that an update cannot change.
_KEPT_FIELDS: Final = ("creationTimestamp", "deletionTimestamp")


class Randomness(Protocol):
    """The source of uids and suffixes; `random.Random` is one."""

    def getrandbits(self, k: int, /) -> int: ...


class MetadataStamper:
    """Sets metadata from the server's clock and random numbers."""

    def __init__(self, now: Callable[[], float], randomness: Randomness | None = None) -> None:
        self._now = now
        self._random = randomness or random.SystemRandom()
        self._second = -1
        self._timestamp = ""

    def timestamp(self) -> str:
        """The current time, to the second."""
        second = int(self._now())
        if second != self._second:
            self._second = second
            self._timestamp = format_time(datetime.fromtimestamp(second, UTC))
        return self._timestamp

    def stamp_creation(self, obj: Object) -> None:
        """Set the metadata of a new object; values from the client are ignored."""
        metadata = obj["metadata"]
        for field in _SYSTEM_FIELDS:
            metadata.pop(field, None)
        metadata["uid"] = self.uid()
        metadata["creationTimestamp"] = self.timestamp()
        if metadata.get("generateName") and not metadata.get("name"):
            metadata["name"] = self.generated_name(metadata["generateName"])

    def uid(self) -> str:
        """A random UUID, version 4."""
        bits = self._random.getrandbits(128) & ~(0xF << 76) & ~(0x3 << 62) | (4 << 76) | (2 << 62)
        text = f"{bits:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def generated_name(self, prefix: str) -> str:
        number = self._random.getrandbits(64)
        suffix = ""
        for _ in range(_SUFFIX_LENGTH):
            number, at = divmod(number, len(_SUFFIX_ALPHABET))
            suffix += _SUFFIX_ALPHABET[at]
        return prefix[: _MAX_GENERATED - _SUFFIX_LENGTH] + suffix

    # --- deletion ---------------------------------------------------------------------------------

    def stamp_deletion(self, obj: Object, grace_seconds: int) -> None:
        """Deletion begins, with a grace period."""
        metadata = obj["metadata"]
        if metadata.get("generation", 0) > 0:
            metadata["generation"] += 1
        metadata["deletionTimestamp"] = self._in(grace_seconds)
        metadata["deletionGracePeriodSeconds"] = grace_seconds

    def shorten_grace(self, obj: Object, grace_seconds: int) -> None:
        """Shorten a deletion that is under way."""
        metadata = obj["metadata"]
        began = parse_time(metadata["deletionTimestamp"]) - timedelta(
            seconds=metadata["deletionGracePeriodSeconds"]
        )
        end, now = began + timedelta(seconds=grace_seconds), datetime.fromtimestamp(int(self._now()), UTC)
        if end < now:
            # The shorter period is already over; the kubelet still has to finish the deletion.
            end, grace_seconds = now, min(grace_seconds, 1)
        metadata["deletionTimestamp"] = format_time(end)
        metadata["deletionGracePeriodSeconds"] = grace_seconds

    def stamp_held_deletion(self, obj: Object) -> None:
        """Deletion would be immediate, but finalizers hold it."""
        metadata = obj["metadata"]
        if "deletionTimestamp" not in metadata and metadata.get("generation", 0) > 0:
            metadata["generation"] += 1
        now = self.timestamp()
        metadata["deletionTimestamp"] = min(metadata.get("deletionTimestamp", now), now)
        metadata["deletionGracePeriodSeconds"] = 0

    def stamp_termination(self, obj: Object) -> None:
        """Controllers clean up first (`RestStrategy.is_terminated_first`)."""
        obj["metadata"]["deletionTimestamp"] = self.timestamp()

    def _in(self, seconds: int) -> str:
        return format_time(datetime.fromtimestamp(int(self._now()) + seconds, UTC))


def keep_system_fields(new: Object, old: Object) -> None:
    """After an update: restore what only the server changes."""
    after, before = new["metadata"], old["metadata"]
    if not after.get("uid"):
        after["uid"] = before["uid"]
    for field in _KEPT_FIELDS:
        if field in before:
            after[field] = before[field]
    if "deletionGracePeriodSeconds" in before:
        after.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])


def keep_generation(new: Object, old: Object) -> None:
    """Clients cannot change the generation; `count_generation` does."""
    if "generation" in old["metadata"]:
        new["metadata"]["generation"] = old["metadata"]["generation"]
    else:
        new["metadata"].pop("generation", None)


_NOT_COUNTED: Final = frozenset({"kind", "apiVersion", "metadata", "status"})


def count_generation(new: Object, old: Object) -> None:
    """Increment the generation if anything but metadata and status has changed."""
    for field in new.keys() | old.keys():
        if field not in _NOT_COUNTED and new.get(field) != old.get(field):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
            return


_DUPLICATE_OWNERS: Final = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
)


def drop_duplicate_owners(obj: Object) -> list[str]:
    """Remove duplicate owners; returns warnings."""
    metadata = obj["metadata"]
    owners = metadata.get("ownerReferences", ())
    if len(owners) < 2:
        return []
    kept: list[Object] = []
    dropped: list[Object] = []
    for owner in owners:
        (dropped if owner in kept else kept).append(owner)
    if not dropped:
        return []
    metadata["ownerReferences"] = kept
    return [_DUPLICATE_OWNERS + ", ".join(owner.get("uid", "") for owner in dropped)]


def place_in_namespace(obj: Object, namespace: str) -> None:
    """Set the namespace of the request, which the object may repeat; "" for cluster-scoped objects."""
    metadata = obj["metadata"]
    given = metadata.get("namespace", "")
    if given == namespace:
        return
    if not namespace:
        metadata.pop("namespace", None)
    elif not given:
        metadata["namespace"] = namespace
    else:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
