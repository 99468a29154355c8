"""What a pod requests and what a node offers, as plain ints: cpu in thousandths, everything else in units.

In: a pod's spec and status. Out: `RequestSummary`, the requests in every form that plugins and the cache use,
shared by all pods that request the same; `pod_requests` is the full computation behind it.

The request of a pod is the sum of its containers and sidecars, or the peak of its init containers, whichever is
more for each resource; replaced by the pod-level requests where there are any; plus overhead. A pod that is being
resized counts as the maximum of its requested, allocated and actual resources. Amounts are summed exactly and
rounded up once, at the end, as in Kubernetes.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Generic, Protocol, Self, TypeVar

from bayplan.model.pod_fields import Container, ContainerStatus, PodSpec, PodStatus
from bayplan.model.quantity import Quantity, QuantityError, parse_milli, parse_nano, parse_value
from bayplan.model.resource_names import CPU, MEMORY, PODS, is_counted_resource, is_pod_level_resource
from bayplan.model.volume_sources import QuantityText

#: The requests that a container without any counts as when nodes are scored.
DEFAULT_MILLI_CPU_REQUEST: Final = 100
DEFAULT_MEMORY_REQUEST: Final = 200 * 1024 * 1024

Resources = Mapping[str, int]
_Amounts = Mapping[str, QuantityText]

_MISSING: Final[_Amounts] = {
    CPU: f"{DEFAULT_MILLI_CPU_REQUEST}m",
    MEMORY: str(DEFAULT_MEMORY_REQUEST),
}
_MAX_INT64: Final = 2**63 - 1
_NANO_PER_MILLI: Final = 10**6
_NANO_PER_UNIT: Final = 10**9
#: Summaries that are shared at a time; the oldest is dropped first.
MAX_SHARED: Final = 8192
_NO_REQUESTS: Final[Resources] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """The feature gates that affect requests, with their defaults, the same in all supported releases."""

    #: InPlacePodVerticalScaling: resources in the status count.
    use_status: bool = True
    #: PodLevelResources: spec.resources of the pod counts.
    pod_level: bool = True
    #: InPlacePodLevelResourcesVerticalScaling: status.resources of the pod counts.
    pod_level_status: bool = True
    #: DRANodeAllocatableResources: claims on node-allocatable resources count.
    node_allocatable_claims: bool = False


DEFAULT_OPTIONS: Final = RequestOptions()
SPEC_ONLY: Final = RequestOptions(use_status=False, pod_level_status=False)


# --- the summary ------------------------------------------------------------------------------------------


class RequestSummary:
    """What a pod requests, in every form, with the feature gates at their defaults.

    For most pods all forms are equal, because no status reports other resources and every container requests cpu
    and memory. Then they are the same object.
    """

    def __init__(self, spec: PodSpec, status: PodStatus, *, has_reported: bool) -> None:
        """*has_reported* is `status.reports_resources`."""
        #: Why the requests cannot be read; empty if they can. Then all forms are empty.
        self.error = ""
        #: All requests, under any name.
        self.all_requests: Resources = _NO_REQUESTS
        #: What the pod takes of its node, of the resources the scheduler counts (NodeInfo's Requested).
        self.requests: Resources = _NO_REQUESTS
        #: What the pod needs to fit on a node: like `requests`, but by its spec alone, and never below 0.
        self.spec_requests: Resources = _NO_REQUESTS
        #: cpu and memory that the pod adds to its node for scoring (NodeInfo's NonZeroRequested).
        self.nonzero_requests: Resources = _NO_REQUESTS
        #: All requests of the pod being scored, with defaults for containers that request no cpu or memory.
        self.scoring_requests: Resources = _NO_REQUESTS
        try:
            self._compute(spec, status, has_reported)
        except QuantityError as error:
            self.error = str(error)

    def _compute(self, spec: PodSpec, status: PodStatus, has_reported: bool) -> None:
        if (
            len(spec.containers) > 1
            or spec.init_containers
            or spec.overhead
            or spec.resources is not None
            or has_reported
        ):
            everything = pod_requests(spec, status)
        else:
            # Nothing to add up, so each amount is rounded by itself.
            amounts = {}
            for container in spec.containers:
                for name, text in container.resources.requests.items():
                    amounts[name] = parse_milli(text) if name == CPU else parse_value(text)
            everything = MappingProxyType(amounts)
        is_cpu_and_memory = len(everything) == 2 and CPU in everything and MEMORY in everything
        requests = everything if is_cpu_and_memory else counted(everything)
        needed = counted(pod_requests(spec, status, SPEC_ONLY)) if has_reported else requests
        if min(needed.values(), default=0) < 0:
            needed = MappingProxyType({name: max(0, amount) for name, amount in needed.items()})
        if not _requests_cpu_and_memory(spec):
            nonzero = nonzero_requests(spec, status, everything)
            scoring = scoring_requests(spec, status)
        else:
            nonzero = scoring = everything
            if not is_cpu_and_memory:
                nonzero = MappingProxyType({CPU: everything.get(CPU, 0), MEMORY: everything.get(MEMORY, 0)})
        self.all_requests, self.requests, self.spec_requests = everything, requests, needed
        self.nonzero_requests, self.scoring_requests = nonzero, scoring


def _requests_cpu_and_memory(spec: PodSpec) -> bool:
    """Whether every container requests cpu and memory, so that no defaults are needed."""
    for container in (*spec.init_containers, *spec.containers):
        requests = container.resources.requests
        if CPU not in requests or MEMORY not in requests:
            return False
    return True


_shared: Final[dict[Hashable, RequestSummary]] = {}


def summarize_requests(spec: PodSpec, status: PodStatus) -> RequestSummary:
    """The summary that all pods with these requests share: the key has everything that affects requests."""
    has_status = bool(status.container_statuses or status.init_container_statuses or status.resources)
    has_reported = has_status and status.reports_resources
    key: Hashable = (
        tuple([tuple(each.resources.requests.items()) for each in spec.containers]),
        tuple([(each.is_sidecar, *each.resources.requests.items()) for each in spec.init_containers])
        if spec.init_containers
        else None,
        tuple(spec.overhead.items()),
        spec.resources and tuple(spec.resources.requests.items()),
        _status_key(spec, status) if has_reported else None,
    )
    summary = _shared.get(key)
    if summary is None:
        summary = _shared[key] = RequestSummary(spec, status, has_reported=has_reported)
        if len(_shared) > MAX_SHARED:
            del _shared[next(iter(_shared))]
    return summary


def _status_key(spec: PodSpec, status: PodStatus) -> Hashable:
    """What affects requests once the kubelet reports resources."""
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


# --- the forms --------------------------------------------------------------------------------------------


def pod_requests(
    spec: PodSpec,
    status: PodStatus,
    options: RequestOptions = DEFAULT_OPTIONS,
    *,
    missing: _Amounts = MappingProxyType({}),
) -> Resources:
    """All that a pod requests, under any name; `missing` has defaults for containers that do not request it."""
    try:
        nanos = _Calculation(spec, status, options, missing, _plain_nano).run()
        return MappingProxyType({name: _rounded(name, amount) for name, amount in nanos.items()})
    except _BeyondPlainInts:
        exact = _Calculation(spec, status, options, missing, Quantity.parse).run()
        return MappingProxyType(
            {name: each.milli_value if name == CPU else each.value for name, each in exact.items()}
        )


def counted(resources: Resources) -> Resources:
    """The resources that the scheduler counts against a node; the number of pods is counted separately."""
    return MappingProxyType(
        {name: amount for name, amount in resources.items() if name != PODS and is_counted_resource(name)}
    )


def nonzero_requests(
    spec: PodSpec, status: PodStatus, requests: Resources, options: RequestOptions = DEFAULT_OPTIONS
) -> Resources:
    """cpu and memory as a node sums them for scoring, with defaults for containers that request none.

    With pod-level requests, a resource that is requested at all gets no default.
    """
    missing: _Amounts = _MISSING
    if options.pod_level and has_pod_level_requests(spec):
        missing = {name: amount for name, amount in _MISSING.items() if name not in requests}
    if missing:
        requests = pod_requests(spec, status, options, missing=missing)
    return MappingProxyType({CPU: requests.get(CPU, 0), MEMORY: requests.get(MEMORY, 0)})


def scoring_requests(spec: PodSpec, status: PodStatus, options: RequestOptions = DEFAULT_OPTIONS) -> Resources:
    """All requests of the pod to be scored; here, unlike in `nonzero_requests`, defaults fill every gap."""
    return pod_requests(spec, status, options, missing=_MISSING)


def has_pod_level_requests(spec: PodSpec) -> bool:
    """Whether the pod as a whole requests something that pods may request."""
    return spec.resources is not None and any(map(is_pod_level_resource, spec.resources.requests))


def allocatable_resources(amounts: _Amounts) -> Resources:
    """What a node offers, of the resources the scheduler counts, the number of pods included."""
    return MappingProxyType(
        {name: amount_of(name, text) for name, text in amounts.items() if is_counted_resource(name)}
    )


def amount_of(resource: str, text: QuantityText) -> int:
    """The amount of a resource: cpu in thousandths, everything else in units."""
    return parse_milli(text) if resource == CPU else parse_value(text)


# --- the computation --------------------------------------------------------------------------------------


class _BeyondPlainInts(Exception):
    """A negative or huge amount, which needs Kubernetes' own arithmetic (`Quantity`)."""


class _Summable(Protocol):
    """What the computation needs of an amount: an int, or a Quantity."""

    def __add__(self, other: Self, /) -> Self: ...

    def __gt__(self, other: Self, /) -> bool: ...


_Amount = TypeVar("_Amount", bound=_Summable)


class _Calculation(Generic[_Amount]):
    """One computation of a pod's requests; amounts are billionths as ints, or quantities."""

    def __init__(
        self,
        spec: PodSpec,
        status: PodStatus,
        options: RequestOptions,
        missing: _Amounts,
        parse: Callable[[QuantityText], _Amount],
    ) -> None:
        self.spec = spec
        self.status = status
        self.options = options
        self.parse: Callable[[QuantityText], _Amount] = parse
        self.missing: dict[str, _Amount] = self._parsed(missing) if missing else {}
        self.statuses: dict[str, ContainerStatus] = {}
        if options.use_status and (status.container_statuses or status.init_container_statuses):
            self.statuses = {
                each.name: each for each in (*status.container_statuses, *status.init_container_statuses)
            }

    def run(self) -> dict[str, _Amount]:
        # 1. Containers run at the same time: sum.
        total: dict[str, _Amount] = {}
        for container in self.spec.containers:
            _add(total, self._container(container, self.statuses.get(container.name)))
        # 2. Init containers run one after another, sidecars next to all later ones.
        if self.spec.init_containers:
            _raise_to(total, self._init_containers(total))
        # 3. Claims on node-allocatable resources.
        if self.options.node_allocatable_claims:
            for claim in self.status.node_allocatable_resource_claim_statuses:
                _add(total, self._parsed(claim.resources))
        # 4. Pod-level requests replace the sum; overhead is added.
        if self.options.pod_level and has_pod_level_requests(self.spec):
            total.update(self._pod_level())
        if self.spec.overhead:
            _add(total, self._parsed(self.spec.overhead))
        return total

    def _init_containers(self, total: dict[str, _Amount]) -> dict[str, _Amount]:
        """The most that is needed at any step of initialisation; sidecars are added to the total as well."""
        sidecars: dict[str, _Amount] = {}
        highest: dict[str, _Amount] = {}
        for container in self.spec.init_containers:
            if container.is_sidecar:
                own = self._container(container, self.statuses.get(container.name))
                _add(total, own)
                _add(sidecars, own)
                _raise_to(highest, sidecars)
            else:
                step = self._container(container, None)
                _add(step, sidecars)
                _raise_to(highest, step)
        return highest

    def _container(self, container: Container, status: ContainerStatus | None) -> dict[str, _Amount]:
        requests = container.resources.requests
        if status is not None and status.resources is not None:
            amounts = self._effective(requests, status.resources.requests, status.allocated_resources)
        else:
            amounts = self._parsed(requests)
        for name, amount in self.missing.items():
            amounts.setdefault(name, amount)
        return amounts

    def _pod_level(self) -> dict[str, _Amount]:
        requested = self.spec.resources.requests if self.spec.resources else {}
        amounts = self._parsed(requested)
        status = self.status
        if self.options.use_status and self.options.pod_level_status and status.resources is not None:
            effective = self._effective(requested, status.resources.requests, status.allocated_resources)
            amounts = {name: effective.get(name, self.parse(0)) for name in requested}
        return {name: amount for name, amount in amounts.items() if is_pod_level_resource(name)}

    def _effective(self, requested: _Amounts, actual: _Amounts, allocated: _Amounts) -> dict[str, _Amount]:
        """During a resize the maximum counts, but not the requested amount if the kubelet found it infeasible."""
        amounts = {} if self.status.resize_infeasible else self._parsed(requested)
        _raise_to(amounts, self._parsed(actual))
        _raise_to(amounts, self._parsed(allocated))
        return amounts

    def _parsed(self, amounts: _Amounts) -> dict[str, _Amount]:
        parse = self.parse
        return {name: parse(text) for name, text in amounts.items()}


def _add(total: dict[str, _Amount], more: Mapping[str, _Amount]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: dict[str, _Amount], other: Mapping[str, _Amount]) -> None:
    for name, amount in other.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def _plain_nano(text: QuantityText) -> int:
    nanos = parse_nano(text)
    if nanos is None:
        raise _BeyondPlainInts
    return nanos


def _rounded(name: str, nanos: int) -> int:
    amount = -(-nanos // (_NANO_PER_MILLI if name == CPU else _NANO_PER_UNIT))
    if amount > _MAX_INT64:
        raise _BeyondPlainInts
    return amount
