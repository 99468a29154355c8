"""Impersonation (`kubectl --as`): the administrator may act as another user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayplan.apiserver.api_errors import bad_request, forbidden
from bayplan.apiserver.transport.api_messages import UserInfo

_USER: Final = b"impersonate-user"
#: May be repeated: one value per line.
GROUPS: Final = b"impersonate-group"
_MASTERS: Final = "system:masters"
_AUTHENTICATED: Final = "system:authenticated"
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"


def acting_user(user: UserInfo, headers: Mapping[bytes, bytes]) -> UserInfo:
    """The user that the request is made as; without impersonation the authenticated one."""
    if _USER not in headers:
        if GROUPS in headers:
            raise bad_request("requested impersonation without impersonating a user")
        return user
    name = headers[_USER].decode("latin-1")
    if _MASTERS not in user.groups:
        why = f'User "{user.name}" cannot impersonate resource "users" in API group "" at the cluster scope'
        raise forbidden("", "users", name, why)
    return UserInfo(name, (*_groups(name, headers), _AUTHENTICATED))


def _groups(name: str, headers: Mapping[bytes, bytes]) -> tuple[str, ...]:
    if GROUPS in headers:
        return tuple(headers[GROUPS].decode("latin-1").split("\n"))
    if name.startswith(_SERVICE_ACCOUNT):
        namespace = name.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
        return "system:serviceaccounts", f"system:serviceaccounts:{namespace}"
    return ()
