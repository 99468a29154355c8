"""Expectations: what a controller has done and its watch has not delivered yet."""

from __future__ import annotations

from bayplan.controllers.pod_view import PodView


class Expectations:
    """Creations and deletions that the watch has not delivered yet: without them, a slow watch duplicates pods."""

    def __init__(self) -> None:
        #: Key of the owner → uids of created pods, uids of deleted pods.
        self._made: dict[str, set[str]] = {}
        self._deleted: dict[str, set[str]] = {}

    def made(self, owner: str, uid: str) -> None:
        self._made.setdefault(owner, set()).add(uid)

    def deleted(self, owner: str, uid: str) -> None:
        self._deleted.setdefault(owner, set()).add(uid)

    def seen(self, owner: str, old: PodView | None, new: PodView | None) -> None:
        pod = new if new is not None else old
        if pod is None:
            return
        self._drop(self._made, owner, pod.uid)
        if new is None or new.is_deleted:
            self._drop(self._deleted, owner, pod.uid)

    def is_satisfied(self, owner: str) -> bool:
        """Whether the watch has delivered everything."""
        return not self._made.get(owner) and not self._deleted.get(owner)

    def forget(self, owner: str) -> None:
        self._made.pop(owner, None)
        self._deleted.pop(owner, None)

    @staticmethod
    def _drop(kept: dict[str, set[str]], owner: str, uid: str) -> None:
        uids = kept.get(owner)
        if uids is not None:
            uids.discard(uid)
            if not uids:
                del kept[owner]
