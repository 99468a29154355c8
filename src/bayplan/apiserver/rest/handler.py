"""RestHandler: routes a request to its verb; errors become a Status."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.codec import Codec
from bayplan.apiserver.registry.api_resources import ApiResource, ResourceTable
from bayplan.apiserver.registry.resource_registry import ResourceRegistry
from bayplan.apiserver.rest.patching import PatchVerb
from bayplan.apiserver.rest.request_info import RequestInfo
from bayplan.apiserver.rest.routes import no_such_method, no_such_resource, route
from bayplan.apiserver.rest.verbs import Verbs
from bayplan.apiserver.rest.view_selector import ViewSelector
from bayplan.apiserver.transport.api_messages import ApiRequest, ApiResponse
from bayplan.framework import Clock

log = logging.getLogger("bayplan.apiserver")

#: kube-apiserver's limit for the size of a body.
MAX_BODY_BYTES: Final = 3 * 1024 * 1024
_NO_PAGE: Final = b"404 page not found\n"

#: Unsupported formats are refused before the kind is looked up.
_REFUSED_EARLY: Final = (406, 415)
#: Deprecated kinds by group and plural, with the warning.
_DEPRECATED: Final = {
    ("", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}

#: Handles a subresource, or a kind that is not stored (a review).
Handler = Callable[[RequestInfo], ApiResponse]


class RestHandler:
    """See the module docstring."""

    def __init__(
        self,
        table: ResourceTable,
        registry: ResourceRegistry,
        codec_of: Callable[[ApiResource], Codec],
        views: ViewSelector,
        clock: Clock,
        *,
        special: Callable[[RequestInfo], Handler | None] = lambda info: None,
        authorize: Callable[[RequestInfo], None] = lambda info: None,
    ) -> None:
        """*special* finds the handler of what is not stored as an object; *authorize* refuses with a 403."""
        self._table = table
        self._codec_of = codec_of
        self._verbs = Verbs(registry, views, clock)
        self._patching = PatchVerb(registry, views)
        self._special = special
        self._authorize = authorize

    def handle(self, request: ApiRequest) -> ApiResponse:
        """The response to a request below /api or /apis; errors are responses as well."""
        info: RequestInfo | None = None
        try:
            info = route(request, self._table)
            if info is None:
                return ApiResponse(404, _NO_PAGE, "text/plain; charset=utf-8")
            _check_size(request)
            self._authorize(info)
            return _with_deprecation(info, self._dispatch(info))
        except StatusError as error:
            response = failure(error, info.warnings if info is not None else ())
            return response if info is None else _with_deprecation(info, response)
        except Exception as error:  # one bad request must not end the server
            log.exception("%s %s", request.method, request.path)
            return failure(StatusError(500, "InternalError", f"Internal error occurred: {error}"))

    def _dispatch(self, info: RequestInfo) -> ApiResponse:
        handler = self._special(info)
        if handler is not None:
            return handler(info)
        if info.subresource not in ("", "status"):
            raise no_such_resource()
        if not info.name:
            return self._on_collection(info)
        return self._on_object(info)

    def _on_collection(self, info: RequestInfo) -> ApiResponse:
        match info.request.method:
            case "GET":
                if info.watch or _asks_to_watch(info.request):
                    return self._allowed(info, "watch", self._verbs.watch)
                return self._allowed(info, "list", self._verbs.list)
            case "POST":
                if info.resource.namespaced and not info.namespace:
                    raise no_such_method()
                return self._allowed(info, "create", lambda info: self._verbs.create(info, self._codec(info)))
            case "DELETE" if info.namespace or not info.resource.namespaced:
                return self._allowed(info, "deletecollection", self._verbs.delete_collection)
        raise no_such_method()

    def _on_object(self, info: RequestInfo) -> ApiResponse:
        match info.request.method:
            case "GET":
                if info.watch:
                    return self._allowed(info, "watch", self._verbs.watch)
                return self._allowed(info, "get", self._verbs.get)
            case "PUT":
                return self._allowed(info, "update", lambda info: self._verbs.update(info, self._codec(info)))
            case "PATCH":
                return self._allowed(info, "patch", lambda info: self._patching.patch(info, self._codec(info)))
            case "DELETE" if not info.subresource:
                return self._allowed(info, "delete", self._verbs.delete)
        raise no_such_method()

    def _allowed(self, info: RequestInfo, verb: str, handler: Handler) -> ApiResponse:
        if verb not in info.resource.verbs:
            raise no_such_method()
        return handler(info)

    def _codec(self, info: RequestInfo) -> Codec:
        return self._codec_of(info.resource)


def failure(error: StatusError, warnings: Sequence[str] = ()) -> ApiResponse:
    """The response for an error."""
    headers = {"Retry-After": str(error.retry_after_seconds)} if error.retry_after_seconds is not None else {}
    return ApiResponse(error.code, msgspec.json.encode(error.body), headers=headers, warnings=tuple(warnings))


def _with_deprecation(info: RequestInfo, response: ApiResponse) -> ApiResponse:
    """Add the deprecation warning of the kind, whatever the result."""
    text = _DEPRECATED.get((info.resource.group, info.resource.plural))
    if text and response.status not in _REFUSED_EARLY:
        response.warnings = (text, *response.warnings)
    return response


def _check_size(request: ApiRequest) -> None:
    if len(request.body) > MAX_BODY_BYTES:
        raise too_large(MAX_BODY_BYTES)


def too_large(limit: int) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def _asks_to_watch(request: ApiRequest) -> bool:
    return "watch" in request.query and request.first("watch").lower() not in ("false", "0")
