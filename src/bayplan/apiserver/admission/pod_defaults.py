"""What admission adds to pods: tolerations of short outages, labels of the node's place."""

from __future__ import annotations

from bayplan.apiserver.admission.lookup import Lookup, is_pod
from bayplan.apiserver.attributes import CREATE, Attributes
from bayplan.apiserver.strategy import Object

OUTAGES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
TOLERATION_SECONDS = 300
_PLACE_LABELS = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


class DefaultTolerationSeconds:
    """A pod stays for five minutes on a node that is not ready or out of reach, unless it says otherwise."""

    name = "DefaultTolerationSeconds"

    def admit(self, attributes: Attributes) -> None:
        if attributes.obj is None or not is_pod(attributes):
            return
        spec = attributes.obj["spec"]
        tolerations = spec.get("tolerations", [])
        missing = [key for key in OUTAGES if not any(_covers(toleration, key) for toleration in tolerations)]
        if missing:
            spec["tolerations"] = [*tolerations, *(_short(key) for key in missing)]

    def check(self, attributes: Attributes) -> None:
        """Nothing to refuse."""


def _covers(toleration: Object, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


def _short(key: str) -> Object:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION_SECONDS}


class PodTopologyLabels:
    """Region and zone of the node become labels of the pod when it is bound, or created on a node."""

    name = "PodTopologyLabels"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def admit(self, attributes: Attributes) -> None:
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
        """The labels that say where a node is."""
        there = self._lookup.get("nodes", "", node) or {}
        labels = there.get("metadata", {}).get("labels", {})
        return {key: labels[key] for key in _PLACE_LABELS if key in labels}

    def check(self, attributes: Attributes) -> None:
        """Nothing to refuse."""
