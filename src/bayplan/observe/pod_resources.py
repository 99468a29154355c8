"""/metrics/resources: the requests and limits of every pod, as the scheduler and kubelets count them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from bayplan.model import Pod
from bayplan.model.pod_fields import Container, PodSpec, ResourceRequirements
from bayplan.model.resource_names import CPU, is_attachable_volume_resource_name, is_huge_page_resource_name
from bayplan.model.resource_requests import SPEC_ONLY, Resources, amount_of, pod_requests
from bayplan.observe.instruments import STABLE, Gauge, MetricsRegistry

_LABELS: Final = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")
_UNITS: Final = {CPU: "cores", "memory": "bytes", "storage": "bytes", "ephemeral-storage": "bytes"}
_MEANING: Final = (
    " on the cluster, broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod "
    "for resources along with the unit for the resource if any."
)


class PodResources:
    """Computed from the pods at every scrape."""

    def __init__(self, pods: Callable[[], Iterable[Pod]]) -> None:
        self._pods = pods
        self._requests = Gauge(
            "kube_pod_resource_request", f"Resources requested by workloads{_MEANING}", *_LABELS, stability=STABLE
        )
        self._limits = Gauge(
            "kube_pod_resource_limit", f"Resources limit for workloads{_MEANING}", *_LABELS, stability=STABLE
        )
        self._registry = MetricsRegistry()
        self._registry.add(self._requests, self._limits)
        self._registry.before_scrape(self._refresh)

    def text(self) -> bytes:
        return self._registry.text()

    def _refresh(self) -> None:
        self._requests.clear()
        self._limits.clear()
        for pod in self._pods():
            if pod.node_name and pod.is_terminal:
                continue
            _set(self._requests, pod, pod_requests(pod.spec, pod.status, SPEC_ONLY))
            _set(self._limits, pod, pod_limits(pod))


def _set(gauge: Gauge, pod: Pod, amounts: Resources) -> None:
    priority = "" if pod.spec.priority is None else str(pod.spec.priority)
    where = (pod.namespace, pod.name, pod.node_name, pod.spec.scheduler_name, priority)
    for name, amount in amounts.items():
        if amount:
            gauge.labels(*where, name, _unit(name)).set(amount / 1000 if name == CPU else amount)


def _unit(name: str) -> str:
    if is_huge_page_resource_name(name):
        return "bytes"
    return _UNITS.get(name, "integer" if is_attachable_volume_resource_name(name) else "")


def pod_limits(pod: Pod) -> Resources:
    """Limits add up as requests do, but overhead is added only to limits that are set."""
    limits = dict(pod_requests(_limits_as_requests(pod.spec), pod.status, SPEC_ONLY))
    for name, text in pod.spec.overhead.items():
        if limits.get(name):
            limits[name] += amount_of(name, text)
    return limits


def _limits_as_requests(spec: PodSpec) -> PodSpec:
    def swapped(resources: ResourceRequirements) -> ResourceRequirements:
        return msgspec.structs.replace(resources, requests=resources.limits)

    def each(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(msgspec.structs.replace(one, resources=swapped(one.resources)) for one in containers)

    return msgspec.structs.replace(
        spec,
        containers=each(spec.containers),
        init_containers=each(spec.init_containers),
        resources=swapped(spec.resources) if spec.resources is not None else None,
        overhead={},
    )
