"""Elastic quotas for tests: namespaces with a min and a max, and pods in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.model import ElasticQuota, Pod
from bayplan.testing import make_pod

#: CapacityScheduling in place of DefaultPreemption.
CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: CapacityScheduling}]}
    postFilter: {disabled: [{name: "*"}], enabled: [{name: CapacityScheduling}]}
"""


def quota(
    namespace: str,
    low: Mapping[str, Any] | None = None,
    high: Mapping[str, Any] | None = None,
    *,
    name: str = "",
    created: str = "2024-01-01T00:00:00Z",
) -> ElasticQuota:
    """The quota of *namespace*; what is None is left out of the object."""
    spec = {key: dict(value) for key, value in (("min", low), ("max", high)) if value is not None}
    return ElasticQuota.from_dict(
        {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "ElasticQuota",
            "metadata": {"name": name or namespace, "namespace": namespace, "creationTimestamp": created},
            "spec": spec,
        }
    )


def running(name: str, namespace: str, node: str = "a", *, start: int = 0, **fields: Any) -> Pod:
    """A pod on a node, started *start* minutes after midnight."""
    status = {"phase": "Running", "startTime": f"2024-01-01T00:{start:02}:00Z"}
    return make_pod(name, namespace=namespace, node_name=node, status=status, **fields)
