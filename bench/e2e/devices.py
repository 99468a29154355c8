"""The devices of a workload: the classes and slices of a workload of `make bench`, its claims as a template."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.workload import filled, load_workload

API = "/apis/resource.k8s.io/v1"
_NODE_FIELD = "metadata.name"

Object = dict[str, Any]


class Devices:
    """See the module docstring."""

    def __init__(self, source: str, namespace: str) -> None:
        """*source* is the name of a file in bench/workloads; *namespace* is that of the pods."""
        self._source = load_workload(source)
        self._namespace = namespace

    def cluster_objects(self, n_nodes: int) -> Iterator[Object]:
        """Classes, and the slices of all nodes."""
        yield from self._source.objects
        for i in range(n_nodes):
            yield from self._of_node(i)

    def template(self) -> Object:
        """The template of the pods' claims."""
        (claim,) = self._source.pod_objects
        (name,) = (each["resourceClaimTemplateName"] for each in self._source.pod["spec"]["resourceClaims"])
        return {
            "apiVersion": claim["apiVersion"],
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": name, "namespace": self._namespace},
            "spec": {"spec": claim["spec"]},
        }

    def taken(self, i: int, namespace: str) -> Object:
        """A claim that has all devices of a node."""
        results = [
            {
                "request": "all",
                "driver": slice_["spec"]["driver"],
                "pool": slice_["spec"]["pool"]["name"],
                "device": device["name"],
            }
            for slice_ in self._of_node(i)
            for device in slice_["spec"].get("devices", ())
        ]
        place = {"key": _NODE_FIELD, "operator": "In", "values": [node_name(i)]}
        selector = {"nodeSelectorTerms": [{"matchFields": [place]}]}
        (device_class,) = (each["metadata"]["name"] for each in self._source.objects)
        request = {"name": "all", "exactly": {"deviceClassName": device_class, "allocationMode": "All"}}
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": f"taken-{i:05d}", "namespace": namespace},
            "spec": {"devices": {"requests": [request]}},
            "status": {"allocation": {"devices": {"results": results}, "nodeSelector": selector}},
        }

    def _of_node(self, i: int) -> list[Object]:
        return [filled(each, {"node": node_name(i)}) for each in self._source.node_objects]


def node_name(i: int) -> str:
    return f"node-{i:05d}"
