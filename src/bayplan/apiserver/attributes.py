"""What admission and subresources are told about a request."""

from __future__ import annotations

from typing import Final

import msgspec

from bayplan.apiserver.exchange import ADMIN, User
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.strategy import Object

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"


class Attributes(msgspec.Struct):
    """One write, as admission sees it. `obj` is what will be (None for a deletion), `old` what is."""

    operation: str
    resource: Resource
    namespace: str
    name: str
    obj: Object | None
    old: Object | None = None
    subresource: str = ""
    user: User = ADMIN
    dry_run: bool = False
    #: Texts for the client; admission may add to them.
    warnings: list[str] = []


class Admission:
    """Admits everything as it is; `admission` has the real ones."""

    def admit(self, attributes: Attributes) -> None:
        """Change `attributes.obj`, or refuse with a StatusError."""

    def check(self, attributes: Attributes) -> None:
        """Refuse with a StatusError, or not; the object is what will be stored."""
