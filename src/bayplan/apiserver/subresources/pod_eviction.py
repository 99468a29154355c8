"""pods/eviction: deletes a pod if its disruption budget allows it."""

from __future__ import annotations

from bayplan.apiserver.api_errors import StatusError, bad_request, forbidden
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.attributes import CREATE, AdmissionAttributes
from bayplan.apiserver.registry.deletion import DeleteOptions
from bayplan.apiserver.registry.resource_registry import WriteContext
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.rest.options import CREATE_OPTIONS, read_write_options
from bayplan.apiserver.rest.request_body import read_object
from bayplan.apiserver.rest.request_info import RequestInfo
from bayplan.apiserver.subresources.common import HandlerDependencies, set_condition, success
from bayplan.apiserver.transport.api_messages import ApiResponse
from bayplan.apiserver.validation.selector_validation import matches

_EVICTION = ApiResource("policy", "v1", "Eviction", "evictions", "eviction", namespaced=True, verbs=("create",))
_PODS = ApiResource("", "v1", "Pod", "pods", "pod", namespaced=True)
_BUDGETS = ApiResource(
    "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "poddisruptionbudget", namespaced=True
)
_MAX_DISRUPTED = 2000
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


class EvictionHandler:
    """Handles creation at pods/NAME/eviction."""

    def __init__(self, dependencies: HandlerDependencies) -> None:
        self._dependencies = dependencies
        self._registry = dependencies.registry
        self._codec = dependencies.codec_of(_EVICTION)

    def __call__(self, info: RequestInfo) -> ApiResponse:
        warnings: list[str] = []
        options = read_write_options(info.request, CREATE_OPTIONS)
        eviction = read_object(info.request, self._codec, options.field_validation, warnings)
        context = options.context(info.request, warnings)
        attributes = AdmissionAttributes(
            CREATE, _PODS, info.namespace, info.name, eviction, subresource="eviction", user=info.request.user
        )
        self._registry.admission.admit(attributes)
        if eviction["metadata"].get("name", "") != info.name:
            raise bad_request("name in URL does not match name in Eviction object")
        delete = _delete_options(eviction.get("deleteOptions", {}), dry_run=options.dry_run)
        pod = self._registry.get(_PODS, info.namespace, info.name)
        unhealthy_under = "" if _needs_no_budget(pod) else self._consume_budget(pod, dry_run=delete.dry_run)
        try:
            self._delete(info, pod, delete, context._replace(dry_run=delete.dry_run))
        except StatusError as error:
            if error.code == 409 and unhealthy_under and delete.version is None:
                raise _in_progress(unhealthy_under) from error
            raise
        return success()

    def _delete(self, info: RequestInfo, pod: Object, options: DeleteOptions, context: WriteContext) -> None:
        options.check_preconditions(_PODS, pod)
        if not context.dry_run:
            condition = {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
            }
            set_condition(pod.setdefault("status", {}), condition, self._dependencies.now())
            self._registry.write(_PODS, pod)
        unversioned = DeleteOptions(
            grace_seconds=options.grace_seconds,
            uid=options.uid,
            propagation=options.propagation,
            orphan=options.orphan,
            dry_run=options.dry_run,
        )
        self._registry.delete(_PODS, info.namespace, info.name, unversioned, context)

    def _consume_budget(self, pod: Object, *, dry_run: bool) -> str:
        """Takes one disruption from the budget; returns its name if an unhealthy pod may go without."""
        budgets = self._budgets(pod)
        if len(budgets) > 1:
            text = (
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            )
            raise StatusError(500, "", text)
        if budgets and _may_go_unhealthy(pod, budgets[0]):
            return str(budgets[0]["metadata"]["name"])
        if budgets:
            self._spend(budgets[0], pod["metadata"]["name"], dry_run=dry_run)
        return ""

    def _budgets(self, pod: Object) -> list[Object]:
        metadata = pod["metadata"]
        entries = self._registry.store.list(_BUDGETS.stored_as, metadata["namespace"])
        budgets = (self._registry.decoded(_BUDGETS, entry) for entry in entries)
        labels = metadata.get("labels", {})
        return [
            each for each in budgets if "selector" in each["spec"] and matches(each["spec"]["selector"], labels)
        ]

    def _spend(self, budget: Object, pod_name: str, *, dry_run: bool) -> None:
        status, name = budget.get("status", {}), budget["metadata"]["name"]
        if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
            raise _in_progress(name)
        allowed = status.get("disruptionsAllowed", 0)
        if allowed < 0:
            raise forbidden("policy", "poddisruptionbudget", name, "pdb disruptions allowed is negative")
        if len(status.get("disruptedPods", {})) > _MAX_DISRUPTED:
            why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
            raise forbidden("policy", "poddisruptionbudget", name, why)
        if allowed == 0:
            raise _too_many(_exhausted(name, status), 0)
        if dry_run:
            return
        status["disruptionsAllowed"] = allowed - 1
        if allowed == 1:
            _record_exhausted(status, budget["metadata"].get("generation", 0), self._dependencies.now())
        status.setdefault("disruptedPods", {})[pod_name] = self._dependencies.now()
        self._registry.write(_BUDGETS, budget)


def _delete_options(value: Object, *, dry_run: bool) -> DeleteOptions:
    preconditions = value.get("preconditions", {})
    return DeleteOptions(
        grace_seconds=value.get("gracePeriodSeconds"),
        uid=preconditions.get("uid"),
        version=preconditions.get("resourceVersion"),
        propagation=value.get("propagationPolicy"),
        orphan=value.get("orphanDependents"),
        dry_run=dry_run or bool(value.get("dryRun")),
    )


def _needs_no_budget(pod: Object) -> bool:
    phase = pod.get("status", {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


def _may_go_unhealthy(pod: Object, budget: Object) -> bool:
    """Whether an unhealthy pod may be evicted: always, or while enough others are healthy."""
    conditions = pod.get("status", {}).get("conditions", ())
    if any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status", {})
    desired = status.get("desiredHealthy", 0)
    return bool(status.get("currentHealthy", 0) >= desired > 0)


def _exhausted(name: str, status: Object) -> str:
    conditions = [each for each in status.get("conditions", ()) if each.get("type") == "DisruptionAllowed"]
    condition = conditions[0] if conditions else {}
    refused = condition.get("status") == "False" and condition.get("message")
    current, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if refused and condition.get("reason") == "SyncFailed":
        rest = f"because it failed sync: {condition['message']}"
        return f"The disruption budget {name} does not allow evicting pods currently {rest}"
    if current <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    if refused:
        rest = f"({condition.get('reason', '')}): {condition['message']}"
        return f"The disruption budget {name} does not allow evicting pods currently {rest}"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _in_progress(name: str) -> StatusError:
    return _too_many(f"The disruption budget {name} is still being processed by the server.", 10)


def _too_many(text: str, retry_after: int) -> StatusError:
    details: Object = {"causes": [{"reason": "DisruptionBudget", "message": text}]}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    return StatusError(429, "TooManyRequests", _REFUSED, details=details, retry_after_seconds=retry_after or None)


def _record_exhausted(status: Object, generation: int, now: str) -> None:
    condition = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": generation,
        "lastTransitionTime": now,
        "reason": "InsufficientPods",
        "message": "",
    }
    conditions = status.setdefault("conditions", [])
    for i, known in enumerate(conditions):
        if known.get("type") == "DisruptionAllowed":
            if known.get("status") == "False":
                condition["lastTransitionTime"] = known.get("lastTransitionTime", now)
            conditions[i] = condition
            return
    conditions.append(condition)
