"""RuntimeClass: the class that a pod names must exist, and it alone sets the pod's overhead."""

from __future__ import annotations

from bayplan.apiserver.admission.lookup import ObjectLookup, is_pod, refusal
from bayplan.apiserver.registry.attributes import CREATE, AdmissionAttributes
from bayplan.apiserver.registry.rest_strategy import Object

CLASSES = "node.k8s.io/runtimeclasses"


class RuntimeClass:
    """See the module docstring."""

    name = "RuntimeClass"

    def __init__(self, lookup: ObjectLookup) -> None:
        self._lookup = lookup

    def admit(self, attributes: AdmissionAttributes) -> None:
        if attributes.obj is None or attributes.operation != CREATE or not is_pod(attributes):
            return
        spec = attributes.obj["spec"]
        overhead = self._overhead(attributes, spec)
        if overhead is None:
            return
        if spec.get("overhead", overhead) != overhead:
            raise refusal(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        spec["overhead"] = overhead

    def check(self, attributes: AdmissionAttributes) -> None:
        if attributes.obj is None or attributes.operation != CREATE or not is_pod(attributes):
            return
        spec = attributes.obj["spec"]
        if "overhead" in spec and self._overhead(attributes, spec) is None:
            why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise refusal(attributes, why)

    def _overhead(self, attributes: AdmissionAttributes, spec: Object) -> Object | None:
        """The overhead that the pod's class declares."""
        name = spec.get("runtimeClassName")
        if not name:
            return None
        runtime_class = self._lookup.get(CLASSES, "", name)
        if runtime_class is None:
            raise refusal(attributes, f'pod rejected: RuntimeClass "{name}" not found')
        overhead: Object | None = runtime_class.get("overhead", {}).get("podFixed")
        return overhead
