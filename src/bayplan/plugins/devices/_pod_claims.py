"""The resource claims of a pod, and what an attempt knows of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bayplan.model import (
    AllocationResult,
    LazyErrorNodeSelector,
    Pod,
    PodResourceClaim,
    ResourceClaim,
    strict_node_selector,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bayplan.devices import ClaimTracker
    from bayplan.framework import IntArray
    from bayplan.model import ContainerExtendedResourceRequest

#: The name of the claim for extended resources until it is created; no claim of a cluster can have it.
SPECIAL_NAME: Final = "<extended-resources>"


class ClaimError(Exception):
    """A claim of the pod is missing, or cannot be used."""


def claim_name(pod: Pod, claim: PodResourceClaim) -> tuple[str | None, bool]:
    """The name of the claim, None if none is needed; and whether it must have been created for the pod.

    Raises ClaimError if it is not created yet.
    """
    if claim.resource_claim_name is not None:
        return claim.resource_claim_name, False
    if claim.resource_claim_template_name is None:
        raise ClaimError(
            f'pod "{pod.key}", spec.resourceClaim "{claim.name}": none of the supported fields are set'
        )
    for status in pod.status.resource_claim_statuses:
        if status.name == claim.name:
            return status.resource_claim_name, True
    raise ClaimError(f'pod "{pod.key}": ResourceClaim not created yet')


def claims_of(pod: Pod, tracker: ClaimTracker) -> list[ResourceClaim]:
    """The claims that the pod names. Raises ClaimError."""
    claims = []
    for each in pod.spec.resource_claims:
        name, must_own = claim_name(pod, each)
        if name is None:
            continue
        claim = tracker.get(pod.namespace, name)
        if claim is None:
            raise ClaimError(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimError(f'resourceclaim "{name}" is being deleted')
        if must_own and not _is_controlled_by(claim, pod):
            raise ClaimError(f"ResourceClaim {claim.key} was not created for Pod {pod.key} (Pod is not owner)")
        claims.append(claim)
    return claims


def _is_controlled_by(claim: ResourceClaim, pod: Pod) -> bool:
    controller = claim.metadata.controller
    return controller is not None and controller.uid == pod.uid


@dataclass(slots=True, eq=False)
class PodClaims:
    """The state of one attempt; shared by the clones of its cycle state."""

    #: Those that the pod names; then the special one for extended resources, if there is one.
    claims: list[ResourceClaim]
    n_user: int
    #: For each claim that is allocated, the nodes where it can be used; None for all nodes.
    available_on: list[LazyErrorNodeSelector | None] = field(default_factory=list)
    #: The extended resources that the pod requests: name → amount.
    resources: dict[str, int] = field(default_factory=dict)
    #: The uid of the special claim before it was created.
    special_uid: str = ""
    #: By row of the snapshot: the sum of the preferences; None if no alternatives were chosen.
    scores: IntArray | None = None
    #: For each claim, the names of nodes where it is not available.
    unavailable: dict[int, list[NDArray[np.object_]]] = field(default_factory=dict)
    #: For each claim, what Reserve decided.
    allocations: list[AllocationResult | None] = field(default_factory=list)
    #: The special claim as it is created for the chosen node, and which request is for which container.
    special_on_node: ResourceClaim | None = None
    mappings: tuple[ContainerExtendedResourceRequest, ...] = ()

    @property
    def special(self) -> ResourceClaim | None:
        """The claim for extended resources."""
        return self.claims[self.n_user] if len(self.claims) > self.n_user else None

    def to_allocate(self) -> Iterator[tuple[int, ResourceClaim]]:
        """The claims without an allocation, with their numbers."""
        return ((i, claim) for i, claim in enumerate(self.claims) if claim.status.allocation is None)

    @property
    def needs_allocation(self) -> bool:
        return any(True for _ in self.to_allocate())


NO_CLAIMS: Final = PodClaims([], 0)


def availability(claim: ResourceClaim) -> LazyErrorNodeSelector | None:
    """Where an allocated claim can be used; None for all nodes. Raises SelectorError."""
    allocation = claim.status.allocation
    if allocation is None or allocation.node_selector is None:
        return None
    return strict_node_selector(allocation.node_selector)
