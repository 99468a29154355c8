"""Reviews: questions about tokens, users and what they may do. Nothing is stored."""

from __future__ import annotations

from collections.abc import Callable

from bayplan.apiserver.causes import forbidden, invalid
from bayplan.apiserver.exchange import Response, User
from bayplan.apiserver.rest.body import read_object
from bayplan.apiserver.rest.call import Call
from bayplan.apiserver.rest.options import CREATE_OPTIONS, read_write_options
from bayplan.apiserver.rest.routes import no_such_method
from bayplan.apiserver.status import Cause
from bayplan.apiserver.status import invalid as invalid_object
from bayplan.apiserver.strategy import Object
from bayplan.apiserver.subresources.answers import Deps, answer
from bayplan.apiserver.subresources.rbac import Authorizer, Question

#: Finds the user behind a token.
Authenticate = Callable[[str], User | None]


class Reviews:
    """Handles creation of the kinds that are only asked."""

    def __init__(self, deps: Deps, authenticate: Authenticate) -> None:
        self._deps = deps
        self._authenticate = authenticate
        self._authorizer = Authorizer(deps.registry.store)

    def __call__(self, call: Call) -> Response:
        if call.request.method != "POST":
            raise no_such_method()
        warnings: list[str] = []
        options = read_write_options(call.request, CREATE_OPTIONS)
        codec = self._deps.codec_of(call.resource)
        review = read_object(call.request, codec, options.field_validation, warnings)
        handler: Callable[[Call, Object], Object] = getattr(self, f"_{call.resource.plural}")
        review["status"] = handler(call, review)
        return answer(review, 201, warnings)

    def _tokenreviews(self, call: Call, review: Object) -> Object:
        user = self._authenticate(review.get("spec", {}).get("token", ""))
        if user is None:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": _user_info(user)}

    def _selfsubjectreviews(self, call: Call, review: Object) -> Object:
        review["metadata"] = {"creationTimestamp": self._deps.now()}
        return {"userInfo": _user_info(call.request.user)}

    def _selfsubjectaccessreviews(self, call: Call, review: Object) -> Object:
        spec = review.get("spec", {})
        self._refuse(call, _attribute_causes(spec))
        return self._verdict(call.request.user, spec)

    def _subjectaccessreviews(self, call: Call, review: Object) -> Object:
        spec = review.get("spec", {})
        self._refuse(call, [*_attribute_causes(spec), *_subject_causes(spec)])
        return self._verdict(_subject(spec), spec)

    def _localsubjectaccessreviews(self, call: Call, review: Object) -> Object:
        spec = review.get("spec", {})
        causes = [*_attribute_causes(spec), *_subject_causes(spec)]
        namespace = spec.get("resourceAttributes", {}).get("namespace", "")
        if namespace != call.namespace:
            text = "must match metadata.namespace"
            causes.append(invalid("spec.resourceAttributes.namespace", namespace, text))
        if "nonResourceAttributes" in spec:
            text = "disallowed on this kind of request"
            causes.append(forbidden("spec.nonResourceAttributes", text))
        self._refuse(call, causes)
        return self._verdict(_subject(spec), spec)

    def _selfsubjectrulesreviews(self, call: Call, review: Object) -> Object:
        namespace = review.get("spec", {}).get("namespace", "")
        review["spec"] = {}
        return self._authorizer.rules_for(call.request.user, namespace)

    def _verdict(self, user: User, spec: Object) -> Object:
        allowed, reason = self._authorizer.decide(user, Question.of(spec))
        status: Object = {"allowed": allowed}
        if reason:
            status["reason"] = reason
        return status

    def _refuse(self, call: Call, causes: list[Cause]) -> None:
        if causes:
            # Kubernetes leaves out the kind here.
            raise invalid_object(call.resource.group, "", "", causes)


def _subject(spec: Object) -> User:
    return User(spec.get("user", ""), tuple(spec.get("groups", ())), spec.get("uid", ""))


def _user_info(user: User) -> Object:
    info: Object = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    return info


def _attribute_causes(spec: Object) -> list[Cause]:
    both = "resourceAttributes" in spec and "nonResourceAttributes" in spec
    if both:
        text = "cannot be specified in combination with resourceAttributes"
        return [invalid("spec.nonResourceAttributes", spec["nonResourceAttributes"], text)]
    if "resourceAttributes" not in spec and "nonResourceAttributes" not in spec:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid("spec.resourceAttributes", None, text)]
    return []


def _subject_causes(spec: Object) -> list[Cause]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [invalid("spec.user", "", "at least one of user or group must be specified")]
