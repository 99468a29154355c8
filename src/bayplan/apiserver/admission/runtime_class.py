"""RuntimeClass: a pod that names a class needs one that is there; only a class can say what overhead it has."""

from __future__ import annotations

from bayplan.apiserver.admission.lookup import Lookup, is_pod, refusal
from bayplan.apiserver.attributes import CREATE, Attributes
from bayplan.apiserver.strategy import Object

CLASSES = "node.k8s.io/runtimeclasses"


class RuntimeClass:
    """See the module's text."""

    name = "RuntimeClass"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def admit(self, attributes: Attributes) -> None:
        if attributes.obj is None or attributes.operation != CREATE or not is_pod(attributes):
            return
        spec = attributes.obj["spec"]
        overhead = self._overhead(attributes, spec)
        if overhead is None:
            return
        if spec.get("overhead", overhead) != overhead:
            raise refusal(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        spec["overhead"] = overhead

    def check(self, attributes: Attributes) -> None:
        if attributes.obj is None or attributes.operation != CREATE or not is_pod(attributes):
            return
        spec = attributes.obj["spec"]
        if "overhead" in spec and self._overhead(attributes, spec) is None:
            why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise refusal(attributes, why)

    def _overhead(self, attributes: Attributes, spec: Object) -> Object | None:
        """What the class of the pod says that running it takes."""
        name = spec.get("runtimeClassName")
        if not name:
            return None
        runtime_class = self._lookup.get(CLASSES, "", name)
        if runtime_class is None:
            raise refusal(attributes, f'pod rejected: RuntimeClass "{name}" not found')
        overhead: Object | None = runtime_class.get("overhead", {}).get("podFixed")
        return overhead
