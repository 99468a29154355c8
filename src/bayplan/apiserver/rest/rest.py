"""Rest: finds out what a request is about and hands it to the verb; failures become a Status."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from bayplan.apiserver.codec import Codec
from bayplan.apiserver.exchange import Request, Response
from bayplan.apiserver.registry import Registry
from bayplan.apiserver.resources import Resource, ResourceTable
from bayplan.apiserver.rest.call import Call
from bayplan.apiserver.rest.patching import Patching
from bayplan.apiserver.rest.routes import no_such_method, no_such_resource, route
from bayplan.apiserver.rest.verbs import Verbs
from bayplan.apiserver.rest.view_choice import Views
from bayplan.apiserver.status import StatusError
from bayplan.framework import Clock

log = logging.getLogger("bayplan.apiserver")

#: What kube-apiserver reads of a body at most.
MAX_BODY_BYTES: Final = 3 * 1024 * 1024
_NO_PAGE: Final = b"404 page not found\n"

#: What is refused before anybody looks at the kind: formats that are not spoken.
_REFUSED_EARLY: Final = (406, 415)
#: Group and plural of kinds that are on their way out, with what to say.
_DEPRECATED: Final = {
    ("", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}

#: Does what a subresource (or a kind that is only asked, a review) does.
Handler = Callable[[Call], Response]


class Rest:
    """See the module's text."""

    def __init__(
        self,
        table: ResourceTable,
        registry: Registry,
        codec_of: Callable[[Resource], Codec],
        views: Views,
        clock: Clock,
        *,
        special: Callable[[Call], Handler | None] = lambda call: None,
        authorize: Callable[[Call], None] = lambda call: None,
    ) -> None:
        """*special* finds the handler of what is not an object in the store; *authorize* refuses who may not."""
        self._table = table
        self._codec_of = codec_of
        self._verbs = Verbs(registry, views, clock)
        self._patching = Patching(registry, views)
        self._special = special
        self._authorize = authorize

    def handle(self, request: Request) -> Response:
        """The answer to a request below /api or /apis; any failure is one."""
        call: Call | None = None
        try:
            call = route(request, self._table)
            if call is None:
                return Response(404, _NO_PAGE, "text/plain; charset=utf-8")
            _check_size(request)
            self._authorize(call)
            return _with_deprecation(call, self._dispatch(call))
        except StatusError as error:
            response = failure(error, call.warnings if call is not None else ())
            return response if call is None else _with_deprecation(call, response)
        except Exception as error:  # one bad request must not be the end of the server
            log.exception("%s %s", request.method, request.path)
            return failure(StatusError(500, "InternalError", f"Internal error occurred: {error}"))

    def _dispatch(self, call: Call) -> Response:
        handler = self._special(call)
        if handler is not None:
            return handler(call)
        if call.subresource not in ("", "status"):
            raise no_such_resource()
        if not call.name:
            return self._on_collection(call)
        return self._on_object(call)

    def _on_collection(self, call: Call) -> Response:
        match call.request.method:
            case "GET":
                if call.watch or _asks_to_watch(call.request):
                    return self._allowed(call, "watch", self._verbs.watch)
                return self._allowed(call, "list", self._verbs.list)
            case "POST":
                if call.resource.namespaced and not call.namespace:
                    raise no_such_method()
                return self._allowed(call, "create", lambda call: self._verbs.create(call, self._codec(call)))
            case "DELETE" if call.namespace or not call.resource.namespaced:
                return self._allowed(call, "deletecollection", self._verbs.delete_collection)
        raise no_such_method()

    def _on_object(self, call: Call) -> Response:
        match call.request.method:
            case "GET":
                if call.watch:
                    return self._allowed(call, "watch", self._verbs.watch)
                return self._allowed(call, "get", self._verbs.get)
            case "PUT":
                return self._allowed(call, "update", lambda call: self._verbs.update(call, self._codec(call)))
            case "PATCH":
                return self._allowed(call, "patch", lambda call: self._patching.patch(call, self._codec(call)))
            case "DELETE" if not call.subresource:
                return self._allowed(call, "delete", self._verbs.delete)
        raise no_such_method()

    def _allowed(self, call: Call, verb: str, handler: Handler) -> Response:
        if verb not in call.resource.verbs:
            raise no_such_method()
        return handler(call)

    def _codec(self, call: Call) -> Codec:
        return self._codec_of(call.resource)


def failure(error: StatusError, warnings: Sequence[str] = ()) -> Response:
    """The answer that an error is."""
    headers = {"Retry-After": str(error.retry_after_seconds)} if error.retry_after_seconds is not None else {}
    return Response(error.code, msgspec.json.encode(error.body), headers=headers, warnings=tuple(warnings))


def _with_deprecation(call: Call, response: Response) -> Response:
    """Whatever comes of it: users of an old kind are told of the new one."""
    text = _DEPRECATED.get((call.resource.group, call.resource.plural))
    if text and response.status not in _REFUSED_EARLY:
        response.warnings = (text, *response.warnings)
    return response


def _check_size(request: Request) -> None:
    if len(request.body) > MAX_BODY_BYTES:
        raise too_large(MAX_BODY_BYTES)


def too_large(limit: int) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def _asks_to_watch(request: Request) -> bool:
    return "watch" in request.query and request.first("watch").lower() not in ("false", "0")
