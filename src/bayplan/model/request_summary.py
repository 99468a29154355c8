"""The requests of a pod in every form plugins ask for, worked out once for all pods that request the same.

Pods of one controller differ in name only, so what they request is computed for the first of them and shared: the
cache is keyed by everything the computation looks at, and by nothing else.
"""

from collections.abc import Hashable, Sequence
from types import MappingProxyType
from typing import Final

from bayplan.model.pod_spec import Container, PodSpec
from bayplan.model.pod_status import ContainerStatus, PodStatus
from bayplan.model.resource_names import CPU, MEMORY
from bayplan.model.resources import (
    DEFAULT_OPTIONS,
    SPEC_ONLY,
    Resources,
    amount_of,
    counted,
    nonzero_requests,
    pod_requests,
    scoring_requests,
)

#: So many summaries are shared; the oldest goes first.
MAX_SHARED: Final = 8192


class RequestSummary:
    """What a pod requests, with the feature gates of 1.36; each form is computed when first asked for.

    Most pods have all forms alike: no status says otherwise, and every container requests cpu and memory. Then
    they are the same object.
    """

    def __init__(self, spec: PodSpec, status: PodStatus) -> None:
        self._spec = spec
        self._status = status
        self._all: Resources | None = None
        self._counted: Resources | None = None
        self._by_spec: Resources | None = None
        self._nonzero: Resources | None = None
        self._scoring: Resources | None = None

    @property
    def all_requests(self) -> Resources:
        """All requests, under any name; cpu in thousandths, the rest in units."""
        if self._all is None:
            if _is_plain(self._spec, self._status):
                self._all = _requests_of(self._spec.containers[0])
            else:
                self._all = pod_requests(self._spec, self._status, DEFAULT_OPTIONS)
        return self._all

    @property
    def requests(self) -> Resources:
        """What the pod takes of its node, of the resources the scheduler counts (NodeInfo's Requested)."""
        if self._counted is None:
            self._counted = self.all_requests
            if not _are_cpu_and_memory(self._counted):
                self._counted = counted(self._counted)
        return self._counted

    @property
    def spec_requests(self) -> Resources:
        """What the pod needs to fit on a node: like `requests`, but by its spec alone, and never below 0."""
        if self._by_spec is None:
            needed = self.requests
            if self._status.tells_resources:
                needed = counted(pod_requests(self._spec, self._status, SPEC_ONLY))
            if any(amount < 0 for amount in needed.values()):
                needed = MappingProxyType({name: max(0, amount) for name, amount in needed.items()})
            self._by_spec = needed
        return self._by_spec

    @property
    def nonzero_requests(self) -> Resources:
        """cpu and memory that the pod adds to its node for scoring (NodeInfo's NonZeroRequested)."""
        if self._nonzero is None:
            requests = self.all_requests
            if not _leave_no_gaps(self._spec):
                requests = nonzero_requests(self._spec, self._status, requests)
            elif not _are_cpu_and_memory(requests):
                requests = MappingProxyType({CPU: requests.get(CPU, 0), MEMORY: requests.get(MEMORY, 0)})
            self._nonzero = requests
        return self._nonzero

    @property
    def scoring_requests(self) -> Resources:
        """All requests of the pod being scored, cpu and memory filled in for every container without."""
        if self._scoring is None:
            if _leave_no_gaps(self._spec):
                self._scoring = self.all_requests
            else:
                self._scoring = scoring_requests(self._spec, self._status)
        return self._scoring


def _is_plain(spec: PodSpec, status: PodStatus) -> bool:
    """Whether there is one container, and nothing else that bears on requests."""
    return (
        len(spec.containers) == 1
        and not spec.init_containers
        and not spec.overhead
        and spec.resources is None
        and not status.tells_resources
    )


def _requests_of(container: Container) -> Resources:
    """What one container requests: nothing is added up, so each amount is rounded by itself."""
    return MappingProxyType({name: amount_of(name, text) for name, text in container.resources.requests.items()})


def _are_cpu_and_memory(requests: Resources) -> bool:
    return len(requests) == 2 and CPU in requests and MEMORY in requests


def _leave_no_gaps(spec: PodSpec) -> bool:
    """Whether every container requests cpu and memory, so that no defaults are filled in."""
    return _request_both(spec.containers) and _request_both(spec.init_containers)


def _request_both(containers: Sequence[Container]) -> bool:
    for container in containers:
        requests = container.resources.requests
        if CPU not in requests or MEMORY not in requests:
            return False
    return True


_shared: Final[dict[Hashable, RequestSummary]] = {}


def summarize_requests(spec: PodSpec, status: PodStatus) -> RequestSummary:
    """The summary that all pods with these requests share."""
    key = _key(spec, status)
    summary = _shared.get(key)
    if summary is None:
        summary = _shared[key] = RequestSummary(spec, status)
        if len(_shared) > MAX_SHARED:
            del _shared[next(iter(_shared))]
    return summary


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
