"""The copy that a reflector keeps of a collection: objects by key, and whoever wants to know of every change.

An object that cannot be decoded is logged and left out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from typing import Final, Generic, TypeVar

from bayplan.model import ObjectError
from bayplan.watch.identity import Identity
from bayplan.watch.resource import WatchedResource

logger: Final = logging.getLogger("bayplan.watch")

T = TypeVar("T")
Handler = Callable[[T | None, T | None], None]


class Copy(Generic[T]):
    """See the module's text; *handler* is told (old, new): old is None on creation, new on deletion."""

    def __init__(self, resource: WatchedResource[T], handler: Handler[T]) -> None:
        self._name = resource.name
        self._decode = resource.decode
        self._identify = resource.identify
        self._handler = handler
        #: Key → the object as last seen.
        self.objects: Final[dict[str, T]] = {}

    def see(self, data: bytes, *, if_other: bool = False) -> Identity | None:
        """An object as it is now; which one it is, None if it cannot be read. With *if_other* what is the same as
        before is not told."""
        try:
            new = self._decode(data)
        except ObjectError as error:
            logger.error("Left out an object that cannot be read: %s", error)
            return None
        identity = self._identify(new)
        key = identity.key
        old = self.objects.get(key)
        if if_other and new == old:
            return identity
        if old is not None and self._identify(old).uid != identity.uid:
            # Deleted and made anew while we did not look.
            self.remove(key)
            old = None
        self.objects[key] = new
        self._tell(old, new)
        return identity

    def remove(self, key: str) -> None:
        old = self.objects.pop(key, None)
        if old is not None:
            self._tell(old, None)

    def keep_only(self, seen: Container[str]) -> None:
        for key in [key for key in self.objects if key not in seen]:
            self.remove(key)

    def _tell(self, old: T | None, new: T | None) -> None:
        try:
            self._handler(old, new)
        except Exception:
            logger.exception("A handler of changes of %s failed", self._name)
