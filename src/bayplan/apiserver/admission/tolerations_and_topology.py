"""What admission adds to pods: tolerations of short node outages, and topology labels."""

from __future__ import annotations

from bayplan.apiserver.admission.lookup import ObjectLookup, is_pod
from bayplan.apiserver.registry.attributes import CREATE, AdmissionAttributes
from bayplan.apiserver.registry.rest_strategy import Object

OUTAGES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
TOLERATION_SECONDS = 300
_PLACE_LABELS = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


class DefaultTolerationSeconds:
    """A pod tolerates a node that is not ready or unreachable for five minutes, unless it says otherwise."""

    name = "DefaultTolerationSeconds"

    def admit(self, attributes: AdmissionAttributes) -> None:
        if attributes.obj is None or not is_pod(attributes):
            return
        spec = attributes.obj["spec"]
        tolerations = spec.get("tolerations", [])
        missing = [key for key in OUTAGES if not any(_covers(toleration, key) for toleration in tolerations)]
        if missing:
            spec["tolerations"] = [*tolerations, *(_short(key) for key in missing)]

    def check(self, attributes: AdmissionAttributes) -> None:
        """Nothing to refuse."""


def _covers(toleration: Object, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


def _short(key: str) -> Object:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION_SECONDS}


class PodTopologyLabels:
    """Copies region and zone labels of the node to the pod when it is bound, or created on a node."""

    name = "PodTopologyLabels"

    def __init__(self, lookup: ObjectLookup) -> None:
        self._lookup = lookup

    def admit(self, attributes: AdmissionAttributes) -> None:
        if attributes.obj is None or attributes.operation != CREATE or attributes.resource.plural != "pods":
            return
        if attributes.subresource == "binding":
            node = attributes.obj.get("target", {}).get("name", "")
        elif not attributes.subresource:
            node = attributes.obj["spec"].get("nodeName", "")
        else:
            return
        labels = self.labels_of(node) if node else {}
        if labels:
            attributes.obj["metadata"].setdefault("labels", {}).update(labels)

    def labels_of(self, node: str) -> dict[str, str]:
        """The topology labels of a node."""
        there = self._lookup.get("nodes", "", node) or {}
        labels = there.get("metadata", {}).get("labels", {})
        return {key: labels[key] for key in _PLACE_LABELS if key in labels}

    def check(self, attributes: AdmissionAttributes) -> None:
        """Nothing to refuse."""
