"""Selects the representation of a response by what the client accepts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import yaml

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.codec import Codec
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.resource_registry import ResourceRegistry
from bayplan.apiserver.rest.object_views import ConvertedView, MetadataView, ObjectView, RefusingView, WholeView
from bayplan.apiserver.rest.representation import METADATA, METADATA_LIST, TABLE, negotiate
from bayplan.apiserver.rest.request_info import RequestInfo
from bayplan.apiserver.transport.api_messages import ApiResponse

#: Makes the table view of a request.
Tables = Callable[[RequestInfo], ObjectView]


class ViewSelector:
    """The views of all resources."""

    def __init__(
        self, registry: ResourceRegistry, codec_of: Callable[[ApiResource], Codec], tables: Tables | None = None
    ) -> None:
        self._registry = registry
        self._codec_of = codec_of
        self._tables = tables
        self._whole: dict[tuple[str, str, str], WholeView] = {}
        self._metadata = {version: MetadataView(version) for version in ("v1", "v1beta1")}

    def of(self, info: RequestInfo, *, many: bool = False, watch: bool = False) -> ObjectView:
        """The view that the request accepts; a 406 if there is none."""
        wanted = negotiate(info.request.accept, streams=many or watch)
        if wanted.as_ == TABLE and self._tables is not None:
            return self._tables(info)
        if wanted.as_ in (METADATA, METADATA_LIST):
            if not watch and many != (wanted.as_ == METADATA_LIST):
                return RefusingView(_mismatch(wanted.as_, info.resource, many=many))
            return self._metadata[wanted.version]
        return self.whole(info.resource)

    def whole(self, resource: ApiResource) -> WholeView:
        """Whole objects."""
        key = (resource.group, resource.version, resource.plural)
        view = self._whole.get(key)
        if view is None or view.resource is not resource:
            view = self._whole[key] = self._make(resource)
        return view

    def _make(self, resource: ApiResource) -> WholeView:
        empty: dict[str, Any] = {}
        if not resource.custom:
            empty = dict(self._codec_of(resource).zero())
            for field in ("kind", "apiVersion", "metadata"):
                empty.pop(field, None)
            spec = self._registry.strategy_of(resource).empty_spec
            if spec:
                empty["spec"] = {**spec, **empty.get("spec", {})}
        if self._registry.strategy_of(resource).is_converted:
            return ConvertedView(resource, empty, self._registry)
        return WholeView(resource, empty)

    def response(self, info: RequestInfo, status: int, body: bytes, warnings: Sequence[str] = ()) -> ApiResponse:
        """A response in the format that the client accepts."""
        if negotiate(info.request.accept).yaml:
            text = yaml.safe_dump(msgspec.json.decode(body), sort_keys=True, allow_unicode=True)
            return ApiResponse(status, text.encode(), "application/yaml", tuple(warnings))
        return ApiResponse(status, body, warnings=tuple(warnings))


def _mismatch(as_: str, resource: ApiResource, *, many: bool) -> StatusError:
    package = resource.group.partition(".")[0] or "core"
    what, go_type = ("a list", f"{resource.kind}List") if many else ("not a list", resource.kind)
    message = f"you requested {as_}, but the requested object is {what} (*{package}.{go_type})"
    return StatusError(406, "NotAcceptable", message)
