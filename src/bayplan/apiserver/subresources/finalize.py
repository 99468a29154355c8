"""namespaces/finalize: the last word of those who clean up a namespace."""

from __future__ import annotations

from bayplan.apiserver.exchange import Response
from bayplan.apiserver.registry import MODIFIED
from bayplan.apiserver.rest.body import read_object
from bayplan.apiserver.rest.call import Call, check_name
from bayplan.apiserver.rest.options import UPDATE_OPTIONS, read_write_options
from bayplan.apiserver.rest.routes import no_such_method
from bayplan.apiserver.status import conflict
from bayplan.apiserver.subresources.answers import Deps, answer


class Finalize:
    """Handles an update: spec.finalizers are what it says, and without any the namespace is gone."""

    def __init__(self, deps: Deps) -> None:
        self._registry = deps.registry
        self._codec_of = deps.codec_of

    def __call__(self, call: Call) -> Response:
        if call.request.method != "PUT":
            raise no_such_method()
        warnings: list[str] = []
        options = read_write_options(call.request, UPDATE_OPTIONS)
        asked = read_object(call.request, self._codec_of(call.resource), options.field_validation, warnings)
        check_name(call, asked)
        entry = self._registry.entry(call.resource, "", call.name)
        namespace = self._registry.decoded(call.resource, entry)
        version = asked["metadata"].get("resourceVersion", "")
        if version and version != namespace["metadata"]["resourceVersion"]:
            raise conflict("", "namespaces", call.name, MODIFIED)
        finalizers = asked.get("spec", {}).get("finalizers", [])
        namespace["spec"] = {"finalizers": finalizers} if finalizers else {}
        metadata = namespace["metadata"]
        metadata.pop("finalizers", None)
        if asked["metadata"].get("finalizers"):
            metadata["finalizers"] = asked["metadata"]["finalizers"]
        if not finalizers and "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            self._registry.remove(call.resource, entry, dry_run=options.dry_run)
            return answer(namespace, warnings=warnings)
        written = self._registry.write(call.resource, namespace, dry_run=options.dry_run)
        return answer(self._registry.decoded(call.resource, written), warnings=warnings)
