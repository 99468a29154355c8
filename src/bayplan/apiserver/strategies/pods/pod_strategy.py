"""Pods: what the server sets, what may change, the grace period of deletion."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.strategies.pods.claim_statuses import claim_status_list_causes
from bayplan.apiserver.strategies.pods.pod_defaults import default_pod, default_pod_spec
from bayplan.apiserver.strategies.pods.pod_spec_validation import ip_causes, pod_spec_causes
from bayplan.apiserver.strategies.pods.pod_warnings import pod_warnings
from bayplan.apiserver.strategies.pods.qos_class import qos_class
from bayplan.apiserver.strategies.pods.scheduling_validation import merge_label_keys, toleration_causes
from bayplan.apiserver.strategies.pods.validated_specs import ValidatedSpecs, has_named_volumes
from bayplan.apiserver.validation.field_errors import each, forbidden, immutable, invalid
from bayplan.apiserver.validation.metadata_validation import validate_name
from bayplan.apiserver.validation.name_validation import label_errors, qualified_name_errors, subdomain_errors

_MIRROR = "kubernetes.io/config.mirror"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
    "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)"
)
_INT32 = re.compile(r"0|[+-]?[1-9]\d*")
_judged, _warned = ValidatedSpecs(), ValidatedSpecs()


class PodStrategy(RestStrategy):
    """core/v1 Pod."""

    counts_generations = True
    has_status = True
    returns_deleted = True
    selectable_fields = (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
    )  # fmt: skip

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        default_pod_spec(spec)
        default_pod(spec)

    def prepare_create(self, obj: Object) -> None:
        spec = obj["spec"]
        obj["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
        if spec.get("schedulingGates"):
            obj["status"]["conditions"] = [_gated(obj["metadata"].get("creationTimestamp"))]
        merge_label_keys(spec, obj["metadata"].get("labels", {}))

    def prepare_update(self, new: Object, old: Object) -> None:
        new["status"] = old.get("status", {})

    def prepare_status_update(self, new: Object, old: Object) -> None:
        super().prepare_status_update(new, old)
        metadata, before = new["metadata"], old["metadata"]
        if "ownerReferences" in before:
            metadata["ownerReferences"] = before["ownerReferences"]
        else:
            metadata.pop("ownerReferences", None)
        status = new.setdefault("status", {})
        if not status.get("qosClass") and "qosClass" in old.get("status", {}):
            status["qosClass"] = old["status"]["qosClass"]
        _keep_observed_generations(status, old.get("status", {}))

    def validate(self, obj: Object) -> list[StatusCause]:
        spec = obj["spec"]
        found = _pod_causes(obj)
        if spec.get("ephemeralContainers"):
            found.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
        if spec.get("nodeName") and spec.get("schedulingGates"):
            text = "cannot be set until all schedulingGates have been cleared"
            found.append(forbidden("spec.nodeName", text))
        return found

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        found = _pod_causes(new, any_value=_same_node_affinity(new, old))
        found += each("metadata.name", new["metadata"]["name"], validate_name(self, new["metadata"]["name"]))
        found += _annotation_update_causes(new, old)
        found += _spec_update_causes(new["spec"], old["spec"])
        return found

    def validate_status_update(self, new: Object, old: Object) -> list[StatusCause]:
        return [*_annotation_update_causes(new, old), *_status_causes(new, old)]

    def grace_seconds(self, obj: Object, requested: int | None) -> int | None:
        spec = obj.get("spec", {})
        seconds = requested if requested is not None else int(spec.get("terminationGracePeriodSeconds", 0))
        if not spec.get("nodeName") or obj.get("status", {}).get("phase") in ("Failed", "Succeeded"):
            seconds = 0
        return 1 if seconds < 0 else seconds

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        if old is not None:
            return []
        complaints = label_errors(obj["metadata"].get("name", ""))
        found = []
        if complaints:
            text = "this is used in the Pod's hostname, which can result in surprising behavior"
            advice = f"a DNS label is recommended: [{' '.join(complaints)}]"
            found.append(f"metadata.name: {text}; {advice}")
        if obj["metadata"].get("annotations"):
            return found + pod_warnings(obj)
        return found + _warned.findings(obj["spec"], lambda: pod_warnings(obj))

    def fields(self, obj: Object) -> Mapping[str, str]:
        spec, status = obj.get("spec", {}), obj.get("status", {})
        return {
            "spec.nodeName": spec.get("nodeName", ""),
            "spec.restartPolicy": spec.get("restartPolicy", ""),
            "spec.schedulerName": spec.get("schedulerName", ""),
            "spec.serviceAccountName": spec.get("serviceAccountName", ""),
            "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
            "status.phase": status.get("phase", ""),
            "status.podIP": status.get("podIP", ""),
            "status.nominatedNodeName": status.get("nominatedNodeName", ""),
        }


def _gated(now: str | None) -> Object:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def _keep_observed_generations(status: Object, old: Object) -> None:
    if not status.get("observedGeneration") and old.get("observedGeneration"):
        status["observedGeneration"] = old["observedGeneration"]
    known: dict[str, list[int]] = {}
    for condition in old.get("conditions", ()):
        known.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration", 0))
    for condition in status.get("conditions", ()):
        generations = known.get(condition.get("type", ""))
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def _pod_causes(pod: Object, *, any_value: bool = False) -> list[StatusCause]:
    metadata, spec = pod["metadata"], pod["spec"]
    found = list(_annotation_causes(metadata.get("annotations", {}), spec))
    if _MIRROR in metadata.get("annotations", {}) and spec.get("resourceClaims"):
        found.append(forbidden("[]", "static pods do not support resource claims"))
    found += _spec_causes(spec, metadata.get("name", ""), any_value=any_value)
    if not spec.get("serviceAccountName"):
        found += _token_causes(spec)
    for key in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(key) or ()):
            image = container.get("image", "")
            if image != image.strip():
                text = "must not have leading or trailing whitespace"
                found.append(invalid(f"spec.{key}[{i}].image", image, text))
    return found


def _spec_causes(spec: Object, pod_name: str, *, any_value: bool) -> list[StatusCause]:
    def look() -> list[StatusCause]:
        return list(pod_spec_causes(spec, "spec", pod_name=pod_name, of_pod=True, any_value=any_value))

    if any_value or has_named_volumes(spec):
        return look()
    return _judged.findings(spec, look)


def _token_causes(spec: Mapping[str, Any]) -> Iterator[StatusCause]:
    for i, volume in enumerate(spec.get("volumes", ())):
        for j, source in enumerate(volume.get("projected", {}).get("sources") or []):
            if "serviceAccountToken" in source:
                field_path = f"spec.volumes[{i}].projected.sources[{j}].serviceAccountToken"
                yield forbidden(field_path, "must not be specified when serviceAccountName is not set")


def _annotation_causes(annotations: Mapping[str, str], spec: Mapping[str, Any]) -> Iterator[StatusCause]:
    if _MIRROR in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"metadata.annotations[{_MIRROR}]", annotations[_MIRROR], text)
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not (_INT32.fullmatch(cost) and -(2**31) <= int(cost) < 2**31):
        yield invalid(f"metadata.annotations[{_DELETION_COST}]", cost, "must be a 32bit integer")


def _annotation_update_causes(new: Object, old: Object) -> Iterator[StatusCause]:
    after, before = new["metadata"].get("annotations", {}), old["metadata"].get("annotations", {})
    if after.get(_MIRROR) != before.get(_MIRROR):
        verb = "remove or update" if _MIRROR in before else "add"
        yield forbidden(f"metadata.annotations[{_MIRROR}]", f"may not {verb} mirror pod annotation")
    yield from _annotation_causes(after, new.get("spec", {}))


def _same_node_affinity(new: Object, old: Object) -> bool:
    def required_of(pod: Object) -> Any:
        affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
        return affinity.get("requiredDuringSchedulingIgnoredDuringExecution")

    return bool(required_of(new) == required_of(old))


def _spec_update_causes(new: Object, old: Object) -> list[StatusCause]:
    found: list[StatusCause] = []
    for key in ("containers", "initContainers"):
        if len(new.get(key) or ()) != len(old.get(key) or ()):
            found.append(forbidden(f"spec.{key}", "pod updates may not add or remove containers"))
            return found
    deadline, before = new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    field = "spec.activeDeadlineSeconds"
    if deadline is None and before is not None:
        found.append(invalid(field, None, "must not update from a positive integer to nil value"))
    elif deadline is not None and not 0 <= deadline < 2**31:
        return [*found, invalid(field, deadline, "must be between 0 and 2147483647, inclusive")]
    elif deadline is not None and before is not None and before < deadline:
        return [*found, invalid(field, deadline, "must be less than or equal to previous value")]
    found += _added_toleration_causes(new.get("tolerations", ()), old.get("tolerations", ()))
    found += _gate_update_causes(new.get("schedulingGates", ()), old.get("schedulingGates", ()))
    if new != old:
        found += _other_update_causes(new, old)
    return found


def _added_toleration_causes(new: Iterable[Object], old: Iterable[Object]) -> Iterator[StatusCause]:
    def essence(toleration: Object) -> Object:
        return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}

    kept = [essence(toleration) for toleration in new]
    if any(essence(toleration) not in kept for toleration in old):
        text = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", text)
        return
    yield from toleration_causes(new, "spec.tolerations")


def _gate_update_causes(new: Iterable[Object], old: Iterable[Object]) -> Iterator[StatusCause]:
    known = {gate.get("name") for gate in old}
    for i, gate in enumerate(new):
        if gate.get("name") not in known:
            text = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield forbidden(f"spec.schedulingGates[{i}].name", text)


def _other_update_causes(new: Object, old: Object) -> Iterator[StatusCause]:
    """Only a few fields may change; a gated pod may also narrow down its nodes."""
    rest = dict(new)
    for key in ("containers", "initContainers"):
        if key in new:
            pairs = zip(new[key], old[key], strict=True)
            rest[key] = [_with(container, "image", before.get("image")) for container, before in pairs]
    for key in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        rest = _with(rest, key, old.get(key))
    if old.get("terminationGracePeriodSeconds", 0) < 0 and rest.get("terminationGracePeriodSeconds") == 1:
        rest["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    if old.get("schedulingGates"):
        yield from _narrowing_causes(rest, old)
        rest = _with(rest, "nodeSelector", old.get("nodeSelector"))
        rest = _with(rest, "affinity", _with_node_affinity(rest.get("affinity"), old.get("affinity")))
    if rest != old:
        yield forbidden("spec", f"pod updates may not change fields other than {_UPDATABLE}\n")


def _with(value: Object, key: str, part: Any) -> Object:
    """`value` with that member, or without it if it is None."""
    rest = {name: item for name, item in value.items() if name != key}
    return rest if part is None else {**rest, key: part}


def _with_node_affinity(new: Object | None, old: Object | None) -> Object | None:
    node_affinity = (old or {}).get("nodeAffinity")
    result = _with(new or {}, "nodeAffinity", node_affinity)
    return result if result or old is not None else None


def _narrowing_causes(new: Object, old: Object) -> Iterator[StatusCause]:
    selector, before = new.get("nodeSelector", {}), old.get("nodeSelector", {})
    if any(selector.get(key) != value for key, value in before.items()):
        text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid("spec.nodeSelector", selector, text)
    path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    required = (new.get("affinity") or {}).get("nodeAffinity", {}).get(path.rpartition(".")[2])
    known = (old.get("affinity") or {}).get("nodeAffinity", {}).get(path.rpartition(".")[2])
    if known is None or required == known:
        return
    terms, old_terms = ((required or {}).get("nodeSelectorTerms") or []), (known.get("nodeSelectorTerms") or [])
    if len(terms) != len(old_terms):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid(f"{path}.nodeSelectorTerms", terms, text)
        return
    for i, (term, old_term) in enumerate(zip(terms, old_terms, strict=True)):
        if not _only_adds(term, old_term):
            text = "only additions are allowed (no mutations or deletions)"
            yield invalid(f"{path}.nodeSelectorTerms[{i}]", term, text)


def _only_adds(term: Object, old: Object) -> bool:
    if not old.get("matchExpressions") and not old.get("matchFields"):
        return not term.get("matchExpressions") and not term.get("matchFields")
    return all(
        term.get(key, [])[: len(old.get(key, []))] == old.get(key, [])
        for key in ("matchExpressions", "matchFields")
    )


def _status_causes(new: Object, old: Object) -> Iterator[StatusCause]:
    status, before = new.get("status", {}), old.get("status", {})
    for i, condition in enumerate(status.get("conditions", ())):
        kind = condition.get("type", "")
        if condition.get("observedGeneration", 0) < 0:
            text = "must be a non-negative integer"
            yield invalid(f"status.conditions[{i}].observedGeneration", condition["observedGeneration"], text)
        if kind not in ("PodScheduled", "Ready", "Initialized"):
            yield from each(f"status.conditions[{i}].Type", kind, qualified_name_errors(kind))
    nominated = status.get("nominatedNodeName", "")
    if nominated and nominated != before.get("nominatedNodeName", ""):
        yield from each("status.nominatedNodeName", nominated, subdomain_errors(nominated))
        if old["spec"].get("nodeName"):
            yield forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node")
    if status.get("observedGeneration", 0) < 0:
        yield invalid("status.observedGeneration", status["observedGeneration"], "must be a non-negative integer")
    yield from immutable("status.qosClass", status.get("qosClass", ""), before.get("qosClass", ""))
    yield from _transition_causes(status, before, old["spec"])
    yield from claim_status_list_causes(status, new["spec"])
    for key in ("podIPs", "hostIPs"):
        for i, address in enumerate(status.get(key, ())):
            yield from ip_causes(address.get("ip", ""), f"status.{key}[{i}]")


def _transition_causes(new: Object, old: Object, spec: Object) -> Iterator[StatusCause]:
    """A terminated container stays so unless its restart policy allows a restart."""
    policies = {
        container.get("name"): container.get("restartPolicy", spec.get("restartPolicy"))
        for container in (spec.get("containers") or [])
    }
    now = {status.get("name"): status.get("state", {}) for status in new.get("containerStatuses", ())}
    for i, status in enumerate(old.get("containerStatuses", ())):
        name, ended = status.get("name"), status.get("state", {}).get("terminated")
        if ended is None or name not in now or "terminated" in now[name]:
            continue
        policy = policies.get(name)
        if policy == "Always" or (policy == "OnFailure" and ended.get("exitCode", 0) != 0):
            continue
        text = "may not be transitioned to non-terminated state"
        yield forbidden(f"status.containerStatuses[{i}].state", text)
