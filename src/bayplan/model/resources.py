"""What a pod requests and what a node offers, as plain ints: cpu in thousandths, everything else in units.

The request of a pod is the sum of its containers and sidecars, or the most its init containers need while they
run, whichever is more for each resource; replaced by the pod's own requests where it has them; plus overhead.
A pod that is being resized counts as the most of what it asks for, what it was promised and what it has.

Amounts are summed exactly and rounded up once, at the end, as Kubernetes does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from bayplan.model.pod_spec import Container, PodSpec
from bayplan.model.pod_status import ContainerStatus, PodStatus
from bayplan.model.quantity import Quantity, parse_milli, parse_nano, parse_value
from bayplan.model.resource_names import CPU, MEMORY, PODS, is_counted_resource, is_pod_level_resource
from bayplan.model.volumes import QuantityText

#: What a container that requests no cpu or memory counts as when nodes are scored.
DEFAULT_MILLI_CPU_REQUEST: Final = 100
DEFAULT_MEMORY_REQUEST: Final = 200 * 1024 * 1024

Resources = Mapping[str, int]
_Amounts = Mapping[str, QuantityText]
_Amount = TypeVar("_Amount", int, Quantity)

_MISSING: Final[_Amounts] = {
    CPU: f"{DEFAULT_MILLI_CPU_REQUEST}m",
    MEMORY: str(DEFAULT_MEMORY_REQUEST),
}
_MAX_INT64: Final = 2**63 - 1
_NANO_PER_MILLI: Final = 10**6
_NANO_PER_UNIT: Final = 10**9


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """The feature gates that bear on requests, with their defaults in 1.36."""

    #: InPlacePodVerticalScaling: resources in the status count.
    use_status: bool = True
    #: PodLevelResources: spec.resources of the pod counts.
    pod_level: bool = True
    #: InPlacePodLevelResourcesVerticalScaling: and so does status.resources of the pod.
    pod_level_status: bool = True
    #: DRANodeAllocatableResources: claims on the node's own resources count.
    node_allocatable_claims: bool = False


DEFAULT_OPTIONS: Final = RequestOptions()
SPEC_ONLY: Final = RequestOptions(use_status=False, pod_level_status=False)


def pod_requests(
    spec: PodSpec,
    status: PodStatus,
    options: RequestOptions = DEFAULT_OPTIONS,
    *,
    missing: _Amounts = MappingProxyType({}),
) -> Resources:
    """All that a pod requests, under any name; `missing` is added for each container that does not request it."""
    try:
        nanos = _Calculation(spec, status, options, missing, _plain_nano).run()
        return MappingProxyType({name: _rounded(name, amount) for name, amount in nanos.items()})
    except _BeyondPlainInts:
        exact = _Calculation(spec, status, options, missing, Quantity.parse).run()
        return MappingProxyType(
            {name: each.milli_value if name == CPU else each.value for name, each in exact.items()}
        )


def counted(resources: Resources) -> Resources:
    """Those resources that the scheduler counts against a node; the number of pods is counted apart."""
    return MappingProxyType(
        {name: amount for name, amount in resources.items() if name != PODS and is_counted_resource(name)}
    )


def nonzero_requests(
    spec: PodSpec, status: PodStatus, requests: Resources, options: RequestOptions = DEFAULT_OPTIONS
) -> Resources:
    """cpu and memory as a node adds them up for scoring: containers that request none count as a little.

    With requests of the pod as a whole, a resource that anyone requests at all is taken as it is.
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
    """So much of a resource: cpu in thousandths, everything else in units."""
    return parse_milli(text) if resource == CPU else parse_value(text)


class _BeyondPlainInts(Exception):
    """A negative or vast amount, for which Kubernetes' own arithmetic has to be followed step by step."""


class _Calculation(Generic[_Amount]):
    """One computation of a pod's requests; amounts are billionths as ints, or quantities where those do not do."""

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
        # 1. Containers run side by side: sum.
        total: dict[str, _Amount] = {}
        for container in self.spec.containers:
            _add(total, self._container(container, self.statuses.get(container.name)))
        # 2. Init containers run one after another, sidecars beside all that follow.
        if self.spec.init_containers:
            _raise_to(total, self._init_containers(total))
        # 3. Claims on the node's own resources.
        if self.options.node_allocatable_claims:
            for claim in self.status.node_allocatable_resource_claim_statuses:
                _add(total, self._parsed(claim.resources))
        # 4. What the pod requests as a whole replaces the sum; overhead comes on top.
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

    def _effective(self, asked: _Amounts, actual: _Amounts, promised: _Amounts) -> dict[str, _Amount]:
        """While a resize is under way the largest counts, but not what was asked for if that cannot be had."""
        amounts = {} if self.status.resize_infeasible else self._parsed(asked)
        _raise_to(amounts, self._parsed(actual))
        _raise_to(amounts, self._parsed(promised))
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
