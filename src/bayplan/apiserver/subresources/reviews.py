"""Reviews of tokens, users and access. Nothing is stored."""

from __future__ import annotations

from collections.abc import Callable

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.api_errors import invalid as invalid_object
from bayplan.apiserver.authorization.rbac import AccessRequest, RbacAuthorizer
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.rest.options import CREATE_OPTIONS, read_write_options
from bayplan.apiserver.rest.request_body import read_object
from bayplan.apiserver.rest.request_info import RequestInfo
from bayplan.apiserver.rest.routes import no_such_method
from bayplan.apiserver.subresources.common import HandlerDependencies, json_response
from bayplan.apiserver.transport.api_messages import ApiResponse, UserInfo
from bayplan.apiserver.validation.field_errors import forbidden, invalid

#: Finds the user of a token.
Authenticate = Callable[[str], UserInfo | None]


class ReviewHandler:
    """Handles creation of the review kinds."""

    def __init__(self, dependencies: HandlerDependencies, authenticate: Authenticate) -> None:
        self._dependencies = dependencies
        self._authenticate = authenticate
        self._authorizer = RbacAuthorizer(dependencies.registry.store)

    def __call__(self, info: RequestInfo) -> ApiResponse:
        if info.request.method != "POST":
            raise no_such_method()
        warnings: list[str] = []
        options = read_write_options(info.request, CREATE_OPTIONS)
        codec = self._dependencies.codec_of(info.resource)
        review = read_object(info.request, codec, options.field_validation, warnings)
        handler: Callable[[RequestInfo, Object], Object] = getattr(self, f"_{info.resource.plural}")
        review["status"] = handler(info, review)
        return json_response(review, 201, warnings)

    def _tokenreviews(self, info: RequestInfo, review: Object) -> Object:
        user = self._authenticate(review.get("spec", {}).get("token", ""))
        if user is None:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": _user_info(user)}

    def _selfsubjectreviews(self, info: RequestInfo, review: Object) -> Object:
        review["metadata"] = {"creationTimestamp": self._dependencies.now()}
        return {"userInfo": _user_info(info.request.user)}

    def _selfsubjectaccessreviews(self, info: RequestInfo, review: Object) -> Object:
        spec = review.get("spec", {})
        self._refuse(info, _attribute_causes(spec))
        return self._verdict(info.request.user, spec)

    def _subjectaccessreviews(self, info: RequestInfo, review: Object) -> Object:
        spec = review.get("spec", {})
        self._refuse(info, [*_attribute_causes(spec), *_subject_causes(spec)])
        return self._verdict(_subject(spec), spec)

    def _localsubjectaccessreviews(self, info: RequestInfo, review: Object) -> Object:
        spec = review.get("spec", {})
        causes = [*_attribute_causes(spec), *_subject_causes(spec)]
        namespace = spec.get("resourceAttributes", {}).get("namespace", "")
        if namespace != info.namespace:
            text = "must match metadata.namespace"
            causes.append(invalid("spec.resourceAttributes.namespace", namespace, text))
        if "nonResourceAttributes" in spec:
            text = "disallowed on this kind of request"
            causes.append(forbidden("spec.nonResourceAttributes", text))
        self._refuse(info, causes)
        return self._verdict(_subject(spec), spec)

    def _selfsubjectrulesreviews(self, info: RequestInfo, review: Object) -> Object:
        namespace = review.get("spec", {}).get("namespace", "")
        review["spec"] = {}
        return self._authorizer.rules_for(info.request.user, namespace)

    def _verdict(self, user: UserInfo, spec: Object) -> Object:
        allowed, reason = self._authorizer.decide(user, AccessRequest.of(spec))
        status: Object = {"allowed": allowed}
        if reason:
            status["reason"] = reason
        return status

    def _refuse(self, info: RequestInfo, causes: list[StatusCause]) -> None:
        if causes:
            # Kubernetes omits the kind here.
            raise invalid_object(info.resource.group, "", "", causes)


def _subject(spec: Object) -> UserInfo:
    return UserInfo(spec.get("user", ""), tuple(spec.get("groups", ())), spec.get("uid", ""))


def _user_info(user: UserInfo) -> Object:
    info: Object = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    return info


def _attribute_causes(spec: Object) -> list[StatusCause]:
    both = "resourceAttributes" in spec and "nonResourceAttributes" in spec
    if both:
        text = "cannot be specified in combination with resourceAttributes"
        return [invalid("spec.nonResourceAttributes", spec["nonResourceAttributes"], text)]
    if "resourceAttributes" not in spec and "nonResourceAttributes" not in spec:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid("spec.resourceAttributes", None, text)]
    return []


def _subject_causes(spec: Object) -> list[StatusCause]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [invalid("spec.user", "", "at least one of user or group must be specified")]
