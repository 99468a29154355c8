"""Whether a user may do what a request asks, by roles and bindings; system:masters may do everything."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.rest.call import Call
from bayplan.apiserver.status import StatusError, forbidden
from bayplan.apiserver.subresources.rbac import MASTERS, Authorizer, Question

_VERBS: Final = {
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
    "GET": "get",
    "HEAD": "get",
}
_OF_COLLECTIONS: Final = {"get": "list", "delete": "deletecollection"}
#: What everybody may ask about themselves.
_ABOUT_ONESELF: Final = ("selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews")


class Authorization:
    """Asked before every request to a resource."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def check(self, call: Call) -> None:
        """A 403 if nothing allows it."""
        user = call.request.user
        if MASTERS in user.groups or call.resource.plural in _ABOUT_ONESELF:
            return
        question = _question(call)
        allowed, _ = self._authorizer.decide(user, question)
        if not allowed:
            raise _refusal(user.name, question)


def _question(call: Call) -> Question:
    verb = _VERBS.get(call.request.method, "")
    if not call.name:
        verb = _OF_COLLECTIONS.get(verb, verb)
    if verb in ("get", "list") and (call.watch or call.request.first("watch") in ("true", "1")):
        verb = "watch"
    resource = call.resource
    return Question(verb, call.namespace, resource.group, resource.plural, call.subresource, call.name)


def _refusal(user: str, question: Question) -> StatusError:
    what = f"{question.resource}/{question.subresource}" if question.subresource else question.resource
    where = f'in the namespace "{question.namespace}"' if question.namespace else "at the cluster scope"
    why = f'User "{user}" cannot {question.verb} resource "{what}" in API group "{question.group}" {where}'
    return forbidden(question.group, question.resource, question.name, why)
