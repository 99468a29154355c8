"""Authorizes requests to resources by RBAC; system:masters may do everything."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.api_errors import forbidden
from bayplan.apiserver.authorization.rbac import MASTERS, AccessRequest, RbacAuthorizer
from bayplan.apiserver.rest.request_info import RequestInfo

_VERBS: Final = {
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
    "GET": "get",
    "HEAD": "get",
}
_OF_COLLECTIONS: Final = {"get": "list", "delete": "deletecollection"}
#: Reviews that every user may create about themselves.
_ABOUT_ONESELF: Final = ("selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews")


class RequestAuthorization:
    """Called before every request to a resource."""

    def __init__(self, authorizer: RbacAuthorizer) -> None:
        self._authorizer = authorizer

    def check(self, info: RequestInfo) -> None:
        """Raise a 403 if nothing allows the request."""
        user = info.request.user
        if MASTERS in user.groups or info.resource.plural in _ABOUT_ONESELF:
            return
        access = _access_request(info)
        allowed, _ = self._authorizer.decide(user, access)
        if not allowed:
            raise forbidden(access.group, access.resource, access.name, access.refusal(user))


def _access_request(info: RequestInfo) -> AccessRequest:
    verb = _VERBS.get(info.request.method, "")
    if not info.name:
        verb = _OF_COLLECTIONS.get(verb, verb)
    if verb in ("get", "list") and (info.watch or info.request.first("watch") in ("true", "1")):
        verb = "watch"
    resource = info.resource
    return AccessRequest(verb, info.namespace, resource.group, resource.plural, info.subresource, info.name)
