"""…/scale of custom resources: the definition says where replicas and selector are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayplan.apiserver.custom import jsonpath
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.rest.call import Call
from bayplan.apiserver.schemas import Json
from bayplan.apiserver.status import StatusError
from bayplan.apiserver.strategy import Object
from bayplan.apiserver.subresources.answers import Deps
from bayplan.apiserver.subresources.scale import Scale, make_scale


class CustomScale(Scale):
    """See `Scale`; `paths_of` gives the JSON paths of a resource."""

    def __init__(self, deps: Deps, paths_of: Callable[[Resource], Json]) -> None:
        super().__init__(deps)
        self._paths_of = paths_of

    def read(self, call: Call, obj: Object) -> Object:
        paths = self._paths_of(call.resource)
        wanted = _at(paths["specReplicasPath"], obj, None)
        if wanted is None and call.request.method == "GET":
            why = f'the spec replicas field "{paths["specReplicasPath"]}" does not exist'
            raise StatusError(500, "InternalError", f"Internal error occurred: {why}")
        selector = paths.get("labelSelectorPath", "")
        there = _at(paths["statusReplicasPath"], obj, 0)
        return make_scale(obj, wanted or 0, there, _at(selector, obj, "") if selector else "")

    def write(self, call: Call, obj: Object, replicas: int) -> None:
        *way, last = self._paths_of(call.resource)["specReplicasPath"].removeprefix(".").split(".")
        holder = obj
        for field in way:
            holder = holder.setdefault(field, {})
        holder[last] = replicas


def _at(path: str, obj: Object, missing: Any) -> Any:
    found = jsonpath.find(path, obj)
    return found[0] if found else missing
