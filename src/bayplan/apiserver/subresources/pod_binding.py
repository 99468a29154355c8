"""pods/binding: assigns a pod to its node, once."""

from __future__ import annotations

from bayplan.apiserver.api_errors import StatusError, bad_request, conflict, not_stored, precondition_failed
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.attributes import CREATE, AdmissionAttributes
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.rest.options import CREATE_OPTIONS, read_write_options
from bayplan.apiserver.rest.request_body import read_object
from bayplan.apiserver.rest.request_info import RequestInfo
from bayplan.apiserver.subresources.common import HandlerDependencies, set_condition, success
from bayplan.apiserver.transport.api_messages import ApiResponse

_BINDING = ApiResource("", "v1", "Binding", "bindings", "binding", namespaced=True, verbs=("create",))
_PODS = ApiResource("", "v1", "Pod", "pods", "pod", namespaced=True)


class BindingHandler:
    """Handles creation at pods/NAME/binding, and at bindings, where the body has the name."""

    def __init__(self, dependencies: HandlerDependencies) -> None:
        self._dependencies = dependencies
        self._registry = dependencies.registry
        self._codec = dependencies.codec_of(_BINDING)

    def __call__(self, info: RequestInfo) -> ApiResponse:
        warnings: list[str] = []
        options = read_write_options(info.request, CREATE_OPTIONS)
        binding = read_object(info.request, self._codec, options.field_validation, warnings)
        metadata = binding["metadata"]
        name = info.name or metadata.get("name", "")
        if metadata.get("namespace", info.namespace) != info.namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        attributes = AdmissionAttributes(
            CREATE, _PODS, info.namespace, name, binding, subresource="binding", user=info.request.user
        )
        self._registry.admission.admit(attributes)
        if metadata.get("name", "") != name:
            raise bad_request("name in URL does not match name in Binding object")
        _check_target(binding.get("target", {}))
        self._assign(info.namespace, name, binding, dry_run=options.dry_run)
        response = success()
        response.warnings = tuple(warnings)
        return response

    def _assign(self, namespace: str, name: str, binding: Object, *, dry_run: bool) -> None:
        pod = self._registry.get(_PODS, namespace, name)
        _check_preconditions(binding["metadata"], pod, namespace, name)
        refusal = _refusal(pod, name)
        if refusal:
            raise conflict("", "pods/binding", name, refusal)
        metadata, requested = pod["metadata"], binding["metadata"]
        pod["spec"]["nodeName"] = binding["target"]["name"]
        if requested.get("annotations"):
            metadata["annotations"] = {**metadata.get("annotations", {}), **requested["annotations"]}
        if requested.get("labels"):
            metadata["labels"] = {**requested["labels"], **metadata.get("labels", {})}
        status = pod.setdefault("status", {})
        set_condition(status, {"type": "PodScheduled", "status": "True"}, self._dependencies.now())
        status.pop("nominatedNodeName", None)
        self._registry.write(_PODS, pod, dry_run=dry_run)


def _check_target(target: Object) -> None:
    found = []
    if target.get("kind", "") not in ("", "Node"):
        found.append(f'target.kind: Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"')
    if not target.get("name"):
        found.append("target.name: Required value")
    if found:
        raise StatusError(500, "", found[0] if len(found) == 1 else f"[{', '.join(found)}]")


def _check_preconditions(requested: Object, pod: Object, namespace: str, name: str) -> None:
    for key, word in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted, known = requested.get(key), pod["metadata"].get(key)
        if wanted and wanted != known:
            why = not_stored(_PODS.etcd_key(namespace, name), precondition_failed(word, wanted, known))
            raise conflict("", "pods", name, why)


def _refusal(pod: Object, name: str) -> str:
    if "deletionTimestamp" in pod["metadata"]:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if pod["spec"].get("nodeName"):
        return f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
    if pod["spec"].get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""
