"""Acting as somebody else (`kubectl --as`): what the administrator may do, to see what others may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayplan.apiserver.exchange import User
from bayplan.apiserver.status import bad_request, forbidden

_USER: Final = b"impersonate-user"
#: May be given several times: one value a line.
GROUPS: Final = b"impersonate-group"
_MASTERS: Final = "system:masters"
_AUTHENTICATED: Final = "system:authenticated"
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"


def acting_user(user: User, headers: Mapping[bytes, bytes]) -> User:
    """Whom the request is made as: by itself who shows the token."""
    if _USER not in headers:
        if GROUPS in headers:
            raise bad_request("requested impersonation without impersonating a user")
        return user
    name = headers[_USER].decode("latin-1")
    if _MASTERS not in user.groups:
        why = f'User "{user.name}" cannot impersonate resource "users" in API group "" at the cluster scope'
        raise forbidden("", "users", name, why)
    return User(name, (*_groups(name, headers), _AUTHENTICATED))


def _groups(name: str, headers: Mapping[bytes, bytes]) -> tuple[str, ...]:
    if GROUPS in headers:
        return tuple(headers[GROUPS].decode("latin-1").split("\n"))
    if name.startswith(_SERVICE_ACCOUNT):
        namespace = name.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
        return "system:serviceaccounts", f"system:serviceaccounts:{namespace}"
    return ()
