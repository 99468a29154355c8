"""pods/binding: a pod is assigned to its node, once."""

from __future__ import annotations

from bayplan.apiserver.attributes import CREATE, Attributes
from bayplan.apiserver.exchange import Response
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.rest.body import read_object
from bayplan.apiserver.rest.call import Call
from bayplan.apiserver.rest.options import CREATE_OPTIONS, read_write_options
from bayplan.apiserver.status import StatusError, bad_request, conflict, not_stored, precondition_failed
from bayplan.apiserver.strategy import Object
from bayplan.apiserver.subresources.answers import Deps, set_condition, success

_BINDING = Resource("", "v1", "Binding", "bindings", "binding", namespaced=True, verbs=("create",))
_PODS = Resource("", "v1", "Pod", "pods", "pod", namespaced=True)


class Binding:
    """Handles creation at pods/NAME/binding, and at bindings, where the body has the name."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._registry = deps.registry
        self._codec = deps.codec_of(_BINDING)

    def __call__(self, call: Call) -> Response:
        warnings: list[str] = []
        options = read_write_options(call.request, CREATE_OPTIONS)
        binding = read_object(call.request, self._codec, options.field_validation, warnings)
        metadata = binding["metadata"]
        name = call.name or metadata.get("name", "")
        if metadata.get("namespace", call.namespace) != call.namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        attributes = Attributes(
            CREATE, _PODS, call.namespace, name, binding, subresource="binding", user=call.request.user
        )
        self._registry.admission.admit(attributes)
        if metadata.get("name", "") != name:
            raise bad_request("name in URL does not match name in Binding object")
        _check_target(binding.get("target", {}))
        self._assign(call.namespace, name, binding, dry_run=options.dry_run)
        response = success()
        response.warnings = tuple(warnings)
        return response

    def _assign(self, namespace: str, name: str, binding: Object, *, dry_run: bool) -> None:
        pod = self._registry.get(_PODS, namespace, name)
        _check_preconditions(binding["metadata"], pod, namespace, name)
        refusal = _refusal(pod, name)
        if refusal:
            raise conflict("", "pods/binding", name, refusal)
        metadata, asked = pod["metadata"], binding["metadata"]
        pod["spec"]["nodeName"] = binding["target"]["name"]
        if asked.get("annotations"):
            metadata["annotations"] = {**metadata.get("annotations", {}), **asked["annotations"]}
        if asked.get("labels"):
            metadata["labels"] = {**asked["labels"], **metadata.get("labels", {})}
        status = pod.setdefault("status", {})
        set_condition(status, {"type": "PodScheduled", "status": "True"}, self._deps.now())
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


def _check_preconditions(asked: Object, pod: Object, namespace: str, name: str) -> None:
    for key, word in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted, known = asked.get(key), pod["metadata"].get(key)
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
