"""Which view an answer takes, by what the client accepts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import yaml

from bayplan.apiserver.codec import Codec
from bayplan.apiserver.exchange import Response
from bayplan.apiserver.registry import Registry
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.rest.call import Call
from bayplan.apiserver.rest.representation import METADATA, METADATA_LIST, TABLE, negotiate
from bayplan.apiserver.rest.views import ConvertedView, MetadataView, RefusingView, View, WholeView
from bayplan.apiserver.status import StatusError

#: Makes the table view of a call.
Tables = Callable[[Call], View]


class Views:
    """The views of all resources."""

    def __init__(
        self, registry: Registry, codec_of: Callable[[Resource], Codec], tables: Tables | None = None
    ) -> None:
        self._registry = registry
        self._codec_of = codec_of
        self._tables = tables
        self._whole: dict[tuple[str, str, str], WholeView] = {}
        self._metadata = {version: MetadataView(version) for version in ("v1", "v1beta1")}

    def of(self, call: Call, *, many: bool = False, watch: bool = False) -> View:
        """The view that the request asks for; a 406 if there is none."""
        wanted = negotiate(call.request.accept, streams=many or watch)
        if wanted.as_ == TABLE and self._tables is not None:
            return self._tables(call)
        if wanted.as_ in (METADATA, METADATA_LIST):
            if not watch and many != (wanted.as_ == METADATA_LIST):
                return RefusingView(_mismatch(wanted.as_, call.resource, many=many))
            return self._metadata[wanted.version]
        return self.whole(call.resource)

    def whole(self, resource: Resource) -> WholeView:
        """Objects as they are."""
        place = (resource.group, resource.version, resource.plural)
        view = self._whole.get(place)
        if view is None or view.resource is not resource:
            view = self._whole[place] = self._make(resource)
        return view

    def _make(self, resource: Resource) -> WholeView:
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

    def response(self, call: Call, status: int, body: bytes, warnings: Sequence[str] = ()) -> Response:
        """An answer in the format that the client accepts."""
        if negotiate(call.request.accept).yaml:
            text = yaml.safe_dump(msgspec.json.decode(body), sort_keys=True, allow_unicode=True)
            return Response(status, text.encode(), "application/yaml", tuple(warnings))
        return Response(status, body, warnings=tuple(warnings))


def _mismatch(as_: str, resource: Resource, *, many: bool) -> StatusError:
    package = resource.group.partition(".")[0] or "core"
    what, go_type = ("a list", f"{resource.kind}List") if many else ("not a list", resource.kind)
    message = f"you requested {as_}, but the requested object is {what} (*{package}.{go_type})"
    return StatusError(406, "NotAcceptable", message)
