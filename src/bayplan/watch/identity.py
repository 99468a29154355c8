"""Which object, in which version."""

from __future__ import annotations

from typing import Final


class Identity:
    """What tells an object of a collection from others, and from itself at another time."""

    __slots__ = ("key", "resource_version", "uid")

    def __init__(self, key: str, resource_version: str, uid: str) -> None:
        #: `namespace/name`, or `name` of a cluster-scoped object.
        self.key: Final = key
        self.resource_version: Final = resource_version
        self.uid: Final = uid
