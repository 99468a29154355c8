"""Priority: resolves the priority class of a pod; at most one class is the default."""

from __future__ import annotations

from bayplan.apiserver.admission.lookup import ObjectLookup, is_pod, refusal
from bayplan.apiserver.registry.attributes import CREATE, DELETE, UPDATE, AdmissionAttributes
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.strategies.policies import SYSTEM_PRIORITY_CLASSES

CLASSES = "scheduling.k8s.io/priorityclasses"
_NO_CLASS: Object = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}


class Priority:
    """See the module docstring."""

    name = "Priority"

    def __init__(self, lookup: ObjectLookup) -> None:
        self._lookup = lookup

    def admit(self, attributes: AdmissionAttributes) -> None:
        if attributes.obj is None or not is_pod(attributes):
            return
        spec = attributes.obj["spec"]
        if attributes.operation == CREATE:
            self._resolve(attributes, spec)
        elif attributes.old is not None:
            for key in ("priority", "preemptionPolicy"):
                if key in attributes.old["spec"]:
                    spec.setdefault(key, attributes.old["spec"][key])

    def _resolve(self, attributes: AdmissionAttributes, spec: Object) -> None:
        name = spec.get("priorityClassName", "")
        chosen = self._lookup.get(CLASSES, "", name) if name else self._default()
        if chosen is None:
            raise refusal(attributes, f"no PriorityClass with name {name} was found")
        if not name and "metadata" in chosen:
            spec["priorityClassName"] = chosen["metadata"]["name"]
        value, policy = chosen.get("value", 0), chosen.get("preemptionPolicy")
        computed = "must not be provided in pod spec; priority admission controller computed"
        if spec.get("priority", value) != value:
            subject = f"the integer value of priority ({spec['priority']})"
            why = f"{subject} {computed} {value} from the given PriorityClass name"
            raise refusal(attributes, why)
        spec["priority"] = value
        if policy is not None:
            given = spec.get("preemptionPolicy", policy)
            if given != policy:
                subject = f"the string value of PreemptionPolicy ({given})"
                why = f"{subject} {computed} {policy} from the given PriorityClass name"
                raise refusal(attributes, why)
            spec["preemptionPolicy"] = policy

    def _default(self) -> Object:
        """The default class; of several, the one with the lowest value."""
        defaults = [each for each in self._lookup.list(CLASSES) if each.get("globalDefault")]
        return min(defaults, key=lambda each: int(each.get("value", 0)), default=_NO_CLASS)

    def check(self, attributes: AdmissionAttributes) -> None:
        if attributes.resource.plural != "priorityclasses":
            return
        if attributes.operation == DELETE:
            if attributes.name in SYSTEM_PRIORITY_CLASSES:
                raise refusal(attributes, "this is a system priority class and cannot be deleted")
            return
        if attributes.operation in (CREATE, UPDATE) and (attributes.obj or {}).get("globalDefault"):
            other = self._default()
            same = "metadata" in other and other["metadata"]["name"] == attributes.name
            if "metadata" in other and not (same and attributes.operation == UPDATE):
                name = other["metadata"]["name"]
                why = f"PriorityClass {name} is already marked as default. Only one default can exist"
                raise refusal(attributes, why)
