"""Subresources with behaviour of their own, and kinds that are never stored (reviews)."""

from __future__ import annotations

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.authorization.account_tokens import AccountTokens
from bayplan.apiserver.rest.request_info import RequestInfo
from bayplan.apiserver.rest.routes import NEED_CONTAINERS, no_such_method
from bayplan.apiserver.subresources.account_token import AccountTokenHandler
from bayplan.apiserver.subresources.common import Handler, HandlerDependencies
from bayplan.apiserver.subresources.finalize import FinalizeHandler
from bayplan.apiserver.subresources.pod_binding import BindingHandler
from bayplan.apiserver.subresources.pod_eviction import EvictionHandler
from bayplan.apiserver.subresources.reviews import ReviewHandler
from bayplan.apiserver.subresources.scale import ScaleHandler
from bayplan.apiserver.transport.api_messages import ApiResponse

__all__ = ["HandlerDependencies", "Subresources"]

_REVIEW_GROUPS = ("authentication.k8s.io", "authorization.k8s.io")
_REFUSED = (*NEED_CONTAINERS, "ephemeralcontainers")


class Subresources:
    """Finds the handler of a request, if it needs one."""

    def __init__(
        self,
        dependencies: HandlerDependencies,
        tokens: AccountTokens,
        custom_scale: Handler | None = None,
    ) -> None:
        binding = BindingHandler(dependencies)
        self._handlers: dict[tuple[str, str, str], Handler] = {
            ("", "pods", "binding"): _created(binding),
            ("", "bindings", ""): _created(binding),
            ("", "pods", "eviction"): _created(EvictionHandler(dependencies)),
            ("", "serviceaccounts", "token"): _created(AccountTokenHandler(dependencies, tokens)),
            ("", "namespaces", "finalize"): FinalizeHandler(dependencies),
        }
        self._scale = ScaleHandler(dependencies)
        self._custom_scale = custom_scale
        self._reviews = ReviewHandler(dependencies, tokens.user_of)

    def find(self, info: RequestInfo) -> Handler | None:
        resource = info.resource
        if resource.custom:
            return self._custom_scale if info.subresource == "scale" else None
        if info.subresource == "scale":
            return self._scale
        if resource.group in _REVIEW_GROUPS:
            return self._reviews
        if info.subresource in _REFUSED:
            return _refuse
        return self._handlers.get((resource.group, resource.plural, info.subresource))


def _created(handler: Handler) -> Handler:
    """Accept creation only."""

    def create(info: RequestInfo) -> ApiResponse:
        if info.request.method != "POST":
            raise no_such_method()
        return handler(info)

    return create


def _refuse(info: RequestInfo) -> ApiResponse:
    what = f"{info.resource.plural}/{info.subresource}"
    message = f"{what} is not supported by the embedded API server: its pods have no containers that run"
    raise StatusError(405, "MethodNotAllowed", message, details={})
