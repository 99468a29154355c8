"""Subresources that do something else than read and write their object, and kinds that are only asked."""

from __future__ import annotations

from bayplan.apiserver.exchange import Response
from bayplan.apiserver.rest.call import Call
from bayplan.apiserver.rest.routes import no_such_method
from bayplan.apiserver.status import StatusError
from bayplan.apiserver.subresources.answers import Deps, Handler
from bayplan.apiserver.subresources.binding import Binding
from bayplan.apiserver.subresources.eviction import Eviction
from bayplan.apiserver.subresources.finalize import Finalize
from bayplan.apiserver.subresources.reviews import Authenticate, Reviews
from bayplan.apiserver.subresources.scale import Scale

__all__ = ["Deps", "Subresources"]

_REVIEW_GROUPS = ("authentication.k8s.io", "authorization.k8s.io")
#: What needs containers that really run.
_OF_KUBELETS = ("attach", "ephemeralcontainers", "exec", "log", "portforward", "proxy", "resize", "token")


class Subresources:
    """Finds the handler of a call, if it needs one."""

    def __init__(
        self, deps: Deps, authenticate: Authenticate = lambda token: None, custom_scale: Handler | None = None
    ) -> None:
        binding = Binding(deps)
        self._handlers: dict[tuple[str, str, str], Handler] = {
            ("", "pods", "binding"): _created(binding),
            ("", "bindings", ""): _created(binding),
            ("", "pods", "eviction"): _created(Eviction(deps)),
            ("", "namespaces", "finalize"): Finalize(deps),
        }
        self._scale = Scale(deps)
        self._custom_scale = custom_scale
        self._reviews = Reviews(deps, authenticate)

    def find(self, call: Call) -> Handler | None:
        resource = call.resource
        if resource.custom:
            return self._custom_scale if call.subresource == "scale" else None
        if call.subresource == "scale":
            return self._scale
        if resource.group in _REVIEW_GROUPS:
            return self._reviews
        if call.subresource in _OF_KUBELETS:
            return _refuse
        return self._handlers.get((resource.group, resource.plural, call.subresource))


def _created(handler: Handler) -> Handler:
    """Only creation is known."""

    def create(call: Call) -> Response:
        if call.request.method != "POST":
            raise no_such_method()
        return handler(call)

    return create


def _refuse(call: Call) -> Response:
    what = f"{call.resource.plural}/{call.subresource}"
    message = f"{what} is not supported by the embedded API server: its pods have no containers that run"
    raise StatusError(405, "MethodNotAllowed", message, details={})
