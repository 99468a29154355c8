"""namespaces/finalize: the controller that empties a namespace removes its finalizers."""

from __future__ import annotations

from bayplan.apiserver.api_errors import conflict
from bayplan.apiserver.registry.resource_registry import MODIFIED
from bayplan.apiserver.rest.options import UPDATE_OPTIONS, read_write_options
from bayplan.apiserver.rest.request_body import read_object
from bayplan.apiserver.rest.request_info import RequestInfo, check_name
from bayplan.apiserver.rest.routes import no_such_method
from bayplan.apiserver.subresources.common import HandlerDependencies, json_response
from bayplan.apiserver.transport.api_messages import ApiResponse


class FinalizeHandler:
    """Handles an update of spec.finalizers; without any the namespace is deleted."""

    def __init__(self, dependencies: HandlerDependencies) -> None:
        self._registry = dependencies.registry
        self._codec_of = dependencies.codec_of

    def __call__(self, info: RequestInfo) -> ApiResponse:
        if info.request.method != "PUT":
            raise no_such_method()
        warnings: list[str] = []
        options = read_write_options(info.request, UPDATE_OPTIONS)
        requested = read_object(info.request, self._codec_of(info.resource), options.field_validation, warnings)
        check_name(info, requested)
        entry = self._registry.entry(info.resource, "", info.name)
        namespace = self._registry.decoded(info.resource, entry)
        version = requested["metadata"].get("resourceVersion", "")
        if version and version != namespace["metadata"]["resourceVersion"]:
            raise conflict("", "namespaces", info.name, MODIFIED)
        finalizers = requested.get("spec", {}).get("finalizers", [])
        namespace["spec"] = {"finalizers": finalizers} if finalizers else {}
        metadata = namespace["metadata"]
        metadata.pop("finalizers", None)
        if requested["metadata"].get("finalizers"):
            metadata["finalizers"] = requested["metadata"]["finalizers"]
        if not finalizers and "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            self._registry.remove(info.resource, entry, dry_run=options.dry_run)
            return json_response(namespace, warnings=warnings)
        written = self._registry.write(info.resource, namespace, dry_run=options.dry_run)
        return json_response(self._registry.decoded(info.resource, written), warnings=warnings)
