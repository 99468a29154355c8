"""The attributes of a write that admission plugins see."""

from __future__ import annotations

from typing import Final

import msgspec

from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.transport.api_messages import ADMIN, UserInfo

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"


class AdmissionAttributes(msgspec.Struct):
    """One write, as admission sees it. `obj` is the new object (None for a deletion), `old` the stored one."""

    operation: str
    resource: ApiResource
    namespace: str
    name: str
    obj: Object | None
    old: Object | None = None
    subresource: str = ""
    user: UserInfo = ADMIN
    #: The verb of the request, as RBAC knows it.
    verb: str = ""
    dry_run: bool = False
    #: Warnings for the client; admission may add some.
    warnings: list[str] = []


class Admission:
    """Admits everything unchanged; the package `admission` has the real plugins."""

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Change `attributes.obj`, or raise a StatusError to refuse it."""

    def check(self, attributes: AdmissionAttributes) -> None:
        """Raise a StatusError to refuse the object, which is final here."""
