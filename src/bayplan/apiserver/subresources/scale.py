"""…/scale: how many replicas a workload shall have, in a form that is the same for all kinds."""

from __future__ import annotations

from collections.abc import Callable

from bayplan.apiserver.causes import non_negative
from bayplan.apiserver.exchange import Response
from bayplan.apiserver.patches import BUILT_IN_FORMATS, patched, unsupported
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.rest.body import media_type, read_object
from bayplan.apiserver.rest.call import Call, check_name
from bayplan.apiserver.rest.options import (
    IGNORE,
    UPDATE_OPTIONS,
    WriteOptions,
    read_patch_options,
    read_write_options,
)
from bayplan.apiserver.rest.routes import no_such_method
from bayplan.apiserver.status import invalid
from bayplan.apiserver.store import Entry
from bayplan.apiserver.strategies.selectors import selector_text
from bayplan.apiserver.strategy import Object
from bayplan.apiserver.subresources.answers import Deps, answer

#: Makes the new Scale from the present one.
Change = Callable[[Object], Object]
_SCALE = Resource("autoscaling", "v1", "Scale", "scales", "scale", namespaced=True)


class Scale:
    """Handles reading, updating and patching."""

    def __init__(self, deps: Deps) -> None:
        self._registry = deps.registry
        self._codec = deps.codec_of(_SCALE)

    def __call__(self, call: Call) -> Response:
        match call.request.method:
            case "GET" | "HEAD":
                return answer(self.read(call, self._registry.get(call.resource, call.namespace, call.name)))
            case "PUT":
                return self._update(call)
            case "PATCH":
                return self._patch(call)
        raise no_such_method()

    def _update(self, call: Call) -> Response:
        warnings: list[str] = []
        options = read_write_options(call.request, UPDATE_OPTIONS)
        scale = read_object(call.request, self._codec, options.field_validation, warnings)
        check_name(call, scale)
        return self._changed(call, lambda _: scale, options, warnings)

    def _patch(self, call: Call) -> Response:
        content_type = media_type(call.request.content_type)
        if content_type not in BUILT_IN_FORMATS:
            raise unsupported(BUILT_IN_FORMATS)
        warnings: list[str] = []
        options = read_patch_options(call.request, applies=False)

        def change(current: Object) -> Object:
            result = patched(content_type, current, call.request.body, self._codec.node)
            scale, findings = self._codec.decode(result, collect_unknown=options.field_validation != IGNORE)
            warnings.extend(findings)
            check_name(call, scale)
            return scale

        return self._changed(call, change, options, warnings)

    def _changed(self, call: Call, change: Change, options: WriteOptions, warnings: list[str]) -> Response:
        def workload(entry: Entry) -> Object:
            obj = self._registry.decoded(call.resource, entry)
            scale = change(self.read(call, obj))
            replicas = scale.get("spec", {}).get("replicas", 0)
            causes = non_negative("spec.replicas", replicas)
            if causes:
                raise invalid("autoscaling", "Scale", call.name, causes)
            self.write(call, obj, replicas)
            for key in ("resourceVersion", "uid"):
                if scale["metadata"].get(key):
                    obj["metadata"][key] = scale["metadata"][key]
            return obj

        asking = options.asking(call.request, warnings)
        entry, _ = self._registry.update(
            call.resource, call.namespace, call.name, workload, asking, subresource=call.subresource
        )
        return answer(self.read(call, self._registry.decoded(call.resource, entry)), warnings=warnings)

    def read(self, call: Call, obj: Object) -> Object:
        """The Scale of an object."""
        return scale_of(obj)

    def write(self, call: Call, obj: Object, replicas: int) -> None:
        """Let the object have that many replicas."""
        obj["spec"]["replicas"] = replicas


def scale_of(obj: Object) -> Object:
    """The Scale of a workload."""
    spec = obj.get("spec", {})
    selector = spec.get("selector")
    if selector is not None and not selector.keys() <= {"matchLabels", "matchExpressions"}:
        selector = {"matchLabels": selector}
    replicas = obj.get("status", {}).get("replicas", 0)
    return make_scale(obj, spec.get("replicas", 0), replicas, selector_text(selector))


def make_scale(obj: Object, wanted: int, there: int, selector: str) -> Object:
    """A Scale of an object in Go's form."""
    metadata = obj["metadata"]
    keys = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in keys if key in metadata},
        "spec": {"replicas": wanted} if wanted else {},
        "status": {"replicas": there, "selector": selector} if selector else {"replicas": there},
    }
