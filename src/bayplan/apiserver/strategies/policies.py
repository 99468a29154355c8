"""PodDisruptionBudgets and PriorityClasses."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy, StatusStrategy
from bayplan.apiserver.strategies.workloads import at_most_all_causes, int_or_percent_causes
from bayplan.apiserver.validation.field_errors import forbidden, invalid, non_negative, not_supported, one_of
from bayplan.apiserver.validation.selector_validation import selector_causes

HIGHEST_USER_PRIORITY = 1_000_000_000
#: The priority classes that every cluster has, with their values.
SYSTEM_PRIORITY_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
SYSTEM_PRIORITY_DESCRIPTIONS = {
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, "
        "but can be moved to another node if necessary."
    ),
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
}
_STATUS_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


class PodDisruptionBudgetStrategy(StatusStrategy):
    """policy/v1 PodDisruptionBudget."""

    allows_unconditional_update = False
    checks_metadata = False
    empty_status = dict.fromkeys(_STATUS_COUNTS, 0)

    def validate(self, obj: Object) -> list[StatusCause]:
        spec = obj.get("spec", {})
        found: list[StatusCause] = []
        if "minAvailable" in spec and "maxUnavailable" in spec:
            found.append(invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
        for key in ("minAvailable", "maxUnavailable"):
            if key in spec:
                found += int_or_percent_causes(spec[key], f"spec.{key}")
                found += at_most_all_causes(spec[key], f"spec.{key}")
        found += selector_causes(spec.get("selector"), "spec.selector")
        policy, policies = spec.get("unhealthyPodEvictionPolicy"), ("AlwaysAllow", "IfHealthyBudget")
        if policy is not None and policy not in policies:
            found.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, policies))
        return found

    def validate_status_update(self, new: Object, old: Object) -> list[StatusCause]:
        status = new.get("status", {})
        found = [cause for key in _STATUS_COUNTS for cause in non_negative(f"status.{key}", status.get(key))]
        return [*found, *_condition_causes(status)]


def _condition_causes(status: Object) -> Iterator[StatusCause]:
    for i, condition in enumerate(status.get("conditions", ())):
        path = f"status.conditions[{i}]"
        yield from one_of(f"{path}.type", condition.get("type"), (condition.get("type", ""),))
        if condition.get("status") not in ("True", "False", "Unknown"):
            yield not_supported(f"{path}.status", condition.get("status", ""), ("False", "True", "Unknown"))
        if not condition.get("reason"):
            yield from one_of(f"{path}.reason", "", ())
        if not condition.get("lastTransitionTime"):
            yield from one_of(f"{path}.lastTransitionTime", "", ())


class PriorityClassStrategy(RestStrategy):
    """scheduling.k8s.io/v1 PriorityClass. Its generation is always 1."""

    def default(self, obj: Object) -> None:
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def prepare_create(self, obj: Object) -> None:
        obj["metadata"]["generation"] = 1

    def validate(self, obj: Object) -> list[StatusCause]:
        name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
        found: list[StatusCause] = []
        if name.startswith("system-"):
            if SYSTEM_PRIORITY_CLASSES.get(name) != value:
                found.append(forbidden("metadata.name", _reserved(name)))
        elif value > HIGHEST_USER_PRIORITY:
            text = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
            found.append(forbidden("value", text))
        policies = ("PreemptLowerPriority", "Never")
        return [*found, *one_of("preemptionPolicy", obj.get("preemptionPolicy"), policies)]

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        found = []
        if new.get("value", 0) != old.get("value", 0):
            found.append(forbidden("value", "may not be changed in an update."))
        if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
            found.append(invalid("preemptionPolicy", new.get("preemptionPolicy"), "field is immutable"))
        return found


def _reserved(name: str) -> str:
    prefix = "priority class names with 'system-' prefix are reserved for system use only. error: "
    if name in SYSTEM_PRIORITY_CLASSES:
        return f"{prefix}value of {name} PriorityClass must be {SYSTEM_PRIORITY_CLASSES[name]}"
    return f"{prefix}{name} is not a known system priority class"
