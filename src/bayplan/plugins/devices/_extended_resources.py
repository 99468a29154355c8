"""Extended resources that devices provide: the special claim that stands for a pod's requests.

A node that offers the resource itself needs no devices; on another, each container's request becomes a request of
the claim. Init containers are done before others start, so they use the devices of later containers first, and
share what they need besides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from bayplan.model import (
    EXACT_COUNT,
    EXTENDED_RESOURCE_CLAIM,
    Container,
    ContainerExtendedResourceRequest,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ObjectMeta,
    OwnerReference,
    Pod,
    Quantity,
    ResourceClaim,
    ResourceClaimSpec,
)
from bayplan.plugins.devices._pod_claims import SPECIAL_NAME

if TYPE_CHECKING:
    from bayplan.plugins.resources._device_classes import DeviceClasses


def special_claim(pod: Pod, uid: str) -> ResourceClaim:
    """A claim without requests for the extended resources of the pod."""
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True)
    return ResourceClaim(
        metadata=ObjectMeta(
            namespace=pod.namespace,
            name=SPECIAL_NAME,
            uid=uid,
            generate_name=f"{pod.name}-extended-resources-",
            owner_references=(owner,),
            annotations={EXTENDED_RESOURCE_CLAIM: "true"},
        )
    )


def is_special_name(claim: ResourceClaim) -> bool:
    """Whether the claim is not created yet."""
    return claim.name == SPECIAL_NAME


def claim_for(
    claim: ResourceClaim, pod: Pod, resources: Sequence[str], classes: DeviceClasses
) -> tuple[ResourceClaim, tuple[ContainerExtendedResourceRequest, ...]]:
    """The special claim with requests for these resources, and which request is for which container."""
    requests: list[DeviceRequest] = []
    mappings: list[ContainerExtendedResourceRequest] = []
    for resource in sorted(resources):
        device_class = classes.provider(resource)
        if device_class is not None:
            builder = _Requests(pod, resource, device_class.name)
            requests += builder.requests
            mappings += builder.mappings
    requests.sort(key=lambda request: request.name)
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=tuple(requests)))
    return msgspec.structs.replace(claim, spec=spec), tuple(mappings)


class _Requests:
    """The requests for one resource."""

    def __init__(self, pod: Pod, resource: str, class_name: str) -> None:
        self._resource = resource
        self._class_name = class_name
        self.requests: list[DeviceRequest] = []
        containers = (*pod.spec.init_containers, *pod.spec.containers)
        n_init = len(pod.spec.init_containers)
        is_short = [i < n_init and not each.is_sidecar for i, each in enumerate(containers)]
        long_lived, mappings = self._long_lived(containers, lambda i: not is_short[i])
        short_mappings = self._short_lived(containers, lambda i: is_short[i], long_lived)
        self.requests += [request for request in long_lived if request is not None]
        self.mappings = mappings + short_mappings

    def _long_lived(
        self, containers: Sequence[Container], included: Callable[[int], bool]
    ) -> tuple[list[DeviceRequest | None], list[ContainerExtendedResourceRequest]]:
        requests: list[DeviceRequest | None] = [None] * len(containers)
        mappings: list[ContainerExtendedResourceRequest] = []
        for i, container in enumerate(containers):
            if included(i):
                requests[i], used = self._request(i, container, ())
                mappings += used
        return requests, mappings

    def _short_lived(
        self,
        containers: Sequence[Container],
        included: Callable[[int], bool],
        long_lived: Sequence[DeviceRequest | None],
    ) -> list[ContainerExtendedResourceRequest]:
        mappings: list[ContainerExtendedResourceRequest] = []
        own: list[DeviceRequest] = []
        for i, container in enumerate(containers):
            if included(i):
                request, used = self._request(i, container, long_lived[i:])
                mappings += used
                if request is not None:
                    own.append(request)
        if not own:
            return mappings
        # One after another they can use the same devices: the largest request serves all of them.
        largest = max(own, key=_count)
        self.requests.append(largest)
        names = {request.name for request in own}
        return [
            msgspec.structs.replace(each, request_name=largest.name) if each.request_name in names else each
            for each in mappings
        ]

    def _request(
        self, index: int, container: Container, reusable: Sequence[DeviceRequest | None]
    ) -> tuple[DeviceRequest | None, list[ContainerExtendedResourceRequest]]:
        """A request for what the container needs besides the devices of *reusable*, and all that it uses."""
        requested = container.resources.requests
        wanted = Quantity.parse(requested[self._resource]).value if self._resource in requested else 0
        mappings: list[ContainerExtendedResourceRequest] = []
        if wanted == 0:
            return None, mappings
        n_found = 0
        for each in reusable:
            if each is not None:
                n_found += _count(each)
                mappings.append(self._mapping(container, each.name))
                if n_found >= wanted:
                    return None, mappings
        name = f"container-{index}-request-{sorted(requested).index(self._resource)}"
        mappings.append(self._mapping(container, name))
        exactly = ExactDeviceRequest(
            device_class_name=self._class_name, allocation_mode=EXACT_COUNT, count=wanted - n_found
        )
        return DeviceRequest(name=name, exactly=exactly), mappings

    def _mapping(self, container: Container, request_name: str) -> ContainerExtendedResourceRequest:
        return ContainerExtendedResourceRequest(
            container_name=container.name, resource_name=self._resource, request_name=request_name
        )


def _count(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly is not None else 0
