"""The scale subresource: the replicas of a workload in a form that is the same for all kinds."""

from __future__ import annotations

from collections.abc import Callable

from bayplan.apiserver.api_errors import invalid
from bayplan.apiserver.patches import BUILT_IN_FORMATS, patched, unsupported
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.rest.options import (
    IGNORE,
    UPDATE_OPTIONS,
    WriteOptions,
    read_patch_options,
    read_write_options,
)
from bayplan.apiserver.rest.request_body import media_type, read_object
from bayplan.apiserver.rest.request_info import RequestInfo, check_name
from bayplan.apiserver.rest.routes import no_such_method
from bayplan.apiserver.storage.versioned_store import StoredObject
from bayplan.apiserver.subresources.common import HandlerDependencies, json_response
from bayplan.apiserver.transport.api_messages import ApiResponse
from bayplan.apiserver.validation.field_errors import non_negative
from bayplan.apiserver.validation.selector_validation import selector_text

#: Computes the new Scale from the current one.
ScaleMutation = Callable[[Object], Object]
_SCALE = ApiResource("autoscaling", "v1", "Scale", "scales", "scale", namespaced=True)


class ScaleHandler:
    """Handles get, update and patch."""

    def __init__(self, dependencies: HandlerDependencies) -> None:
        self._registry = dependencies.registry
        self._codec = dependencies.codec_of(_SCALE)

    def __call__(self, info: RequestInfo) -> ApiResponse:
        match info.request.method:
            case "GET" | "HEAD":
                return json_response(self.read(info, self._registry.get(info.resource, info.namespace, info.name)))
            case "PUT":
                return self._update(info)
            case "PATCH":
                return self._patch(info)
        raise no_such_method()

    def _update(self, info: RequestInfo) -> ApiResponse:
        warnings: list[str] = []
        options = read_write_options(info.request, UPDATE_OPTIONS)
        scale = read_object(info.request, self._codec, options.field_validation, warnings)
        check_name(info, scale)
        return self._changed(info, lambda _: scale, options, warnings)

    def _patch(self, info: RequestInfo) -> ApiResponse:
        content_type = media_type(info.request.content_type)
        if content_type not in BUILT_IN_FORMATS:
            raise unsupported(BUILT_IN_FORMATS)
        warnings: list[str] = []
        options = read_patch_options(info.request, applies=False)

        def change(current: Object) -> Object:
            result = patched(content_type, current, info.request.body, self._codec.node)
            scale, findings = self._codec.decode(result, collect_unknown=options.field_validation != IGNORE)
            warnings.extend(findings)
            check_name(info, scale)
            return scale

        return self._changed(info, change, options, warnings)

    def _changed(
        self, info: RequestInfo, change: ScaleMutation, options: WriteOptions, warnings: list[str]
    ) -> ApiResponse:
        def workload(entry: StoredObject) -> Object:
            obj = self._registry.decoded(info.resource, entry)
            scale = change(self.read(info, obj))
            replicas = scale.get("spec", {}).get("replicas", 0)
            causes = non_negative("spec.replicas", replicas)
            if causes:
                raise invalid("autoscaling", "Scale", info.name, causes)
            self.write(info, obj, replicas)
            for key in ("resourceVersion", "uid"):
                if scale["metadata"].get(key):
                    obj["metadata"][key] = scale["metadata"][key]
            return obj

        context = options.context(info.request, warnings)
        entry, _ = self._registry.update(
            info.resource, info.namespace, info.name, workload, context, subresource=info.subresource
        )
        return json_response(self.read(info, self._registry.decoded(info.resource, entry)), warnings=warnings)

    def read(self, info: RequestInfo, obj: Object) -> Object:
        """The Scale of an object."""
        return scale_of(obj)

    def write(self, info: RequestInfo, obj: Object, replicas: int) -> None:
        """Set the replicas of the object."""
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
