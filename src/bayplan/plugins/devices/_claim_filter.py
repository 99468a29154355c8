"""Filter for pods with claims: where allocated claims can be used, and devices for the others can be found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.devices import ClaimPlan, plan_claim
from bayplan.framework import Code, Status, Verdict
from bayplan.plugins.devices._binding_conditions import BindingConditionError, are_met, are_overdue
from bayplan.plugins.devices._extended_resources import claim_for
from bayplan.plugins.devices._node_searches import CANNOT, FITS, NodeSearches
from bayplan.plugins.devices._pod_claims import PodClaims

if TYPE_CHECKING:
    from bayplan.config.args import DynamicResourcesArgs
    from bayplan.devices import DeviceManager
    from bayplan.framework import BoolArray, Handle, IntArray, Lister, NodeTable
    from bayplan.model import ContainerExtendedResourceRequest, DeviceClass, Pod, ResourceClaim
    from bayplan.plugins.resources._device_classes import DeviceClasses

CANNOT_ALLOCATE: Final = "cannot allocate all claims"
NOT_AVAILABLE: Final = "resourceclaim not available on the node"
STALE_CLAIM: Final = "cannot schedule extended resource claim"
CANNOT_FIT: Final = "cannot fit resource"
_UNRESOLVABLE: Final = Code.UNSCHEDULABLE_AND_UNRESOLVABLE

#: The most alternatives that a request can have; the first of them scores as much.
MAX_ALTERNATIVES: Final = 8


class NodeClaims(NamedTuple):
    """The claims to be allocated on some nodes."""

    #: The positions of the nodes in the table.
    positions: IntArray
    #: The special claim with requests for these nodes, if there is one.
    special: ResourceClaim | None = None
    mappings: tuple[ContainerExtendedResourceRequest, ...] = ()


class ClaimFilter:
    """See the module's docstring."""

    def __init__(
        self,
        handle: Handle,
        args: DynamicResourcesArgs,
        classes: Lister[DeviceClass],
        resources: DeviceClasses,
        searches: NodeSearches,
    ) -> None:
        self._manager: DeviceManager = handle.devices
        self._handle = handle
        self._args = args
        self._classes = classes
        self._resources = resources
        self._searches = searches

    def filter(self, state: PodClaims, pod: Pod, nodes: NodeTable) -> Verdict:
        special = state.special
        if special is not None and special.spec.devices.requests:
            # Of an earlier attempt: PostFilter deletes it, and then there is a fresh start.
            return nodes.reject_all(STALE_CLAIM, _UNRESOLVABLE)
        verdict = nodes.accept_all()
        judged = np.ones(len(nodes), dtype=np.bool_)
        if special is not None:
            unfit = self._cannot_fit(state, nodes)
            if unfit.any():
                verdict = verdict.reject(unfit, CANNOT_FIT, _UNRESOLVABLE)
                judged &= ~unfit
        available = self._available(state, nodes)
        statuses: dict[int, Status] = {}
        for group in self.groups(state, pod, nodes, judged):
            verdict = self._search(state, group, nodes, verdict, statuses, judged)
        return self._reject_unavailable(
            state, nodes, Verdict(len(nodes), verdict.rejections, statuses), judged, available
        )

    # --- allocated claims -------------------------------------------------------------------------

    def _available(self, state: PodClaims, nodes: NodeTable) -> list[BoolArray | None]:
        """For each claim, the nodes where it can be used; None for all."""
        return [self._where_available(state, i, nodes) for i in range(len(state.claims))]

    def _where_available(self, state: PodClaims, i: int, nodes: NodeTable) -> BoolArray | None:
        claim, selector = state.claims[i], state.available_on[i]
        if claim.status.allocation is not None and not self._can_bind(claim):
            return np.zeros(len(nodes), dtype=np.bool_)
        return None if selector is None else nodes.matches(selector)

    def _can_bind(self, claim: ResourceClaim) -> bool:
        """False if devices of the claim failed, or were not ready in time: then others should be tried."""
        if not self._manager.features.binding_conditions:
            return True
        try:
            is_ready = are_met(claim)
        except BindingConditionError:
            return False
        now = self._handle.clock.now()
        return is_ready or not are_overdue(claim, now, self._args.binding_timeout.total_seconds())

    def _reject_unavailable(
        self,
        state: PodClaims,
        nodes: NodeTable,
        verdict: Verdict,
        judged: BoolArray,
        available: Sequence[BoolArray | None],
    ) -> Verdict:
        unavailable = np.zeros(len(nodes), dtype=np.bool_)
        for i, where in enumerate(available):
            if where is None:
                continue
            missing = judged & ~where
            if missing.any():
                state.unavailable.setdefault(i, []).append(nodes.names[missing])
                unavailable |= missing
        return verdict.reject(unavailable, NOT_AVAILABLE, _UNRESOLVABLE) if unavailable.any() else verdict

    # --- extended resources -----------------------------------------------------------------------

    def _cannot_fit(self, state: PodClaims, nodes: NodeTable) -> BoolArray:
        """The nodes that do not know an extended resource of the pod that no device provides either."""
        unfit = np.zeros(len(nodes), dtype=np.bool_)
        for resource in state.resources:
            if self._resources.provider(resource) is None:
                for position in np.flatnonzero(nodes.allocatable(resource) == 0).tolist():
                    unfit[position] |= resource not in nodes[position].allocatable
        return unfit

    def groups(self, state: PodClaims, pod: Pod, nodes: NodeTable, where: BoolArray) -> Iterator[NodeClaims]:
        """The nodes where something has to be allocated, by the resources that devices have to provide there."""
        if not state.needs_allocation:
            return
        special = state.special
        if special is None or special.status.allocation is not None:
            yield NodeClaims(np.flatnonzero(where))
            return
        backed = [name for name in state.resources if self._resources.provider(name) is not None]
        lacks = np.zeros(len(nodes), dtype=np.int64)
        for i, resource in enumerate(backed):
            lacks |= (nodes.allocatable(resource) == 0).astype(np.int64) << i
        for combination in np.unique(lacks[where]).tolist():
            if combination == 0 and state.n_user == 0:
                continue  # the node offers everything itself
            needed = [resource for i, resource in enumerate(backed) if combination >> i & 1]
            on_nodes, mappings = claim_for(special, pod, needed, self._resources)
            yield NodeClaims(np.flatnonzero(where & (lacks == combination)), on_nodes, mappings)

    # --- claims to be allocated -------------------------------------------------------------------

    def plans(self, state: PodClaims, group: NodeClaims) -> list[ClaimPlan]:
        """What has to be allocated on the nodes of a group."""
        claims = (
            group.special if claim is state.special and group.special is not None else claim
            for _, claim in state.to_allocate()
        )
        return [plan_claim(claim, self._classes.get, self._manager.features) for claim in claims]

    def _search(
        self,
        state: PodClaims,
        group: NodeClaims,
        nodes: NodeTable,
        verdict: Verdict,
        statuses: dict[int, Status],
        judged: BoolArray,
    ) -> Verdict:
        """Adds the rejections of the search; *judged* becomes False for the nodes that it rejects."""
        outcomes = self._searches.outcomes(self.plans(state, group), nodes, group.positions)
        fits = outcomes.codes == FITS
        judged[group.positions[~fits]] = False
        statuses.update(outcomes.statuses)
        cannot = group.positions[outcomes.codes == CANNOT]
        self._note_scores(state, nodes.rows[group.positions], outcomes.scores)
        if not len(cannot):
            return verdict
        where = np.zeros(len(nodes), dtype=np.bool_)
        where[cannot] = True
        return verdict.reject(where, CANNOT_ALLOCATE, _UNRESOLVABLE)

    def _note_scores(self, state: PodClaims, rows: IntArray, scores: IntArray | None) -> None:
        before = allocated_score(state.claims)
        if scores is None and not before:
            return
        if state.scores is None:
            state.scores = np.zeros(len(self._handle.snapshot.nodes), dtype=np.int64)
        state.scores[rows] = before if scores is None else scores + before


def allocated_score(claims: Sequence[ResourceClaim]) -> int:
    """What the alternatives add to the score that were chosen for claims allocated before."""
    score = 0
    for claim in claims:
        allocation = claim.status.allocation
        chosen = {result.request for result in allocation.devices.results} if allocation is not None else ()
        for request in claim.spec.devices.requests if chosen else ():
            for i, each in enumerate(request.first_available):
                if f"{request.name}/{each.name}" in chosen:
                    score += MAX_ALTERNATIVES - i
    return score
