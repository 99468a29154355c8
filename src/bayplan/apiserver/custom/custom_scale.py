"""The scale subresource of custom resources; the definition gives the paths of replicas and selector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.custom import jsonpath
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.rest.request_info import RequestInfo
from bayplan.apiserver.schema.schemas import Json
from bayplan.apiserver.subresources.common import HandlerDependencies
from bayplan.apiserver.subresources.scale import ScaleHandler, make_scale


class CustomScaleHandler(ScaleHandler):
    """See `ScaleHandler`; `paths_of` gives the JSON paths of a resource."""

    def __init__(self, dependencies: HandlerDependencies, paths_of: Callable[[ApiResource], Json]) -> None:
        super().__init__(dependencies)
        self._paths_of = paths_of

    def read(self, info: RequestInfo, obj: Object) -> Object:
        paths = self._paths_of(info.resource)
        wanted = _at(paths["specReplicasPath"], obj, None)
        if wanted is None and info.request.method == "GET":
            why = f'the spec replicas field "{paths["specReplicasPath"]}" does not exist'
            raise StatusError(500, "InternalError", f"Internal error occurred: {why}")
        selector = paths.get("labelSelectorPath", "")
        there = _at(paths["statusReplicasPath"], obj, 0)
        return make_scale(obj, wanted or 0, there, _at(selector, obj, "") if selector else "")

    def write(self, info: RequestInfo, obj: Object, replicas: int) -> None:
        *way, last = self._paths_of(info.resource)["specReplicasPath"].removeprefix(".").split(".")
        holder = obj
        for field in way:
            holder = holder.setdefault(field, {})
        holder[last] = replicas


def _at(path: str, obj: Object, missing: Any) -> Any:
    found = jsonpath.find(path, obj)
    return found[0] if found else missing
