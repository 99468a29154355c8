"""The requests of a pod in every form plugins ask for, worked out once for all pods that request the same.

Pods of one controller differ in name only, so what they request is computed for the first of them and shared: the
cache is keyed by everything the computation looks at, and by nothing else.
"""

from collections.abc import Hashable
from functools import lru_cache
from types import MappingProxyType

from bayplan.model.memo import cached_property
from bayplan.model.pod_spec import PodSpec
from bayplan.model.pod_status import ContainerStatus, PodStatus
from bayplan.model.resource_names import CPU, MEMORY
from bayplan.model.resources import (
    DEFAULT_OPTIONS,
    SPEC_ONLY,
    Resources,
    counted,
    nonzero_requests,
    pod_requests,
    scoring_requests,
)


class RequestSummary:
    """What a pod requests, with the feature gates of 1.36; each form is computed when first asked for.

    Most pods have all forms alike: no status says otherwise, and every container requests cpu and memory.
    """

    def __init__(self, spec: PodSpec, status: PodStatus) -> None:
        self._spec = spec
        self._status = status

    @cached_property
    def _leaves_no_gaps(self) -> bool:
        """Whether every container requests cpu and memory, so that no defaults are filled in."""
        containers = (*self._spec.containers, *self._spec.init_containers)
        return all(CPU in each.resources.requests and MEMORY in each.resources.requests for each in containers)

    @cached_property
    def all_requests(self) -> Resources:
        """All requests, under any name; cpu in thousandths, the rest in units."""
        return pod_requests(self._spec, self._status, DEFAULT_OPTIONS)

    @cached_property
    def requests(self) -> Resources:
        """What the pod takes of its node, of the resources the scheduler counts (NodeInfo's Requested)."""
        return counted(self.all_requests)

    @cached_property
    def spec_requests(self) -> Resources:
        """What the pod needs to fit on a node: like `requests`, but by its spec alone, and never below 0."""
        needed = self.requests
        if self._status.tells_resources:
            needed = counted(pod_requests(self._spec, self._status, SPEC_ONLY))
        return MappingProxyType({name: max(0, amount) for name, amount in needed.items()})

    @cached_property
    def nonzero_requests(self) -> Resources:
        """cpu and memory that the pod adds to its node for scoring (NodeInfo's NonZeroRequested)."""
        requests = self.all_requests
        if self._leaves_no_gaps:
            return MappingProxyType({CPU: requests.get(CPU, 0), MEMORY: requests.get(MEMORY, 0)})
        return nonzero_requests(self._spec, self._status, requests)

    @cached_property
    def scoring_requests(self) -> Resources:
        """All requests of the pod being scored, cpu and memory filled in for every container without."""
        return self.all_requests if self._leaves_no_gaps else scoring_requests(self._spec, self._status)


def summarize_requests(spec: PodSpec, status: PodStatus) -> RequestSummary:
    """The summary that all pods with these requests share."""
    return _shared(_Template(spec, status))


class _Template:
    """A pod as far as requests go: equal to all that request the same."""

    __slots__ = ("key", "spec", "status")

    def __init__(self, spec: PodSpec, status: PodStatus) -> None:
        self.spec = spec
        self.status = status
        self.key = _key(spec, status)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Template) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=8192)
def _shared(template: _Template) -> RequestSummary:
    return RequestSummary(template.spec, template.status)


def _key(spec: PodSpec, status: PodStatus) -> Hashable:
    """Everything that bears on requests. Statuses do once the kubelet reports resources in them."""
    return (
        tuple([tuple(each.resources.requests.items()) for each in spec.containers]),
        tuple([(each.is_sidecar, *each.resources.requests.items()) for each in spec.init_containers]),
        tuple(spec.overhead.items()),
        spec.resources and tuple(spec.resources.requests.items()),
        _status_key(spec, status),
    )


def _status_key(spec: PodSpec, status: PodStatus) -> Hashable:
    if not status.tells_resources:
        return None
    statuses = (*status.container_statuses, *status.init_container_statuses)
    return (
        tuple([each.name for each in (*spec.containers, *spec.init_containers)]),
        tuple([_container_status_key(each) for each in statuses]),
        status.resources and tuple(status.resources.requests.items()),
        tuple(status.allocated_resources.items()),
        status.resize_infeasible,
    )


def _container_status_key(status: ContainerStatus) -> Hashable:
    actual = status.resources and tuple(status.resources.requests.items())
    return status.name, actual, tuple(status.allocated_resources.items())
