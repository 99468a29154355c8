"""The search for devices that satisfy all claims of a pod on one node: depth first, the first solution wins.

Claims, requests, and devices within a request are tried in order, so the same devices are found as upstream finds.
Within a request devices are taken in the order of the pools, which leaves out permutations of the same devices.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeAlias

from bayplan.devices.allocated_devices import AllocatedDevices
from bayplan.devices.allocation_errors import AllocationError, NodeAllocationError
from bayplan.devices.capacity import CapacityError
from bayplan.devices.claim_plans import ClaimPlan, RequestPlan
from bayplan.devices.constraints import Constraint, new_constraint
from bayplan.devices.device_features import DeviceFeatures
from bayplan.devices.pooled_slices import PooledDevice
from bayplan.devices.pools import NodeDevices, Pool, device_matches
from bayplan.devices.search_state import SearchState, Taken
from bayplan.devices.selector_results import RUNTIME_ERROR
from bayplan.model import tolerates_any

#: No claim can have more devices.
MAX_DEVICES: Final = 32

#: Raises AllocationTimeout when the time is up.
Deadline: TypeAlias = Callable[[], None]

#: Outcomes of a step of the search.
FOUND: Final = 1
NONE: Final = 0
#: The claim would have too many devices; another alternative may need fewer.
TOO_MANY: Final = -1

_OPTIONAL: Final = (
    ". consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)
_STEPS_BETWEEN_LOOKS: Final = 64
_SPARE_FRAMES: Final = 400


class Found(NamedTuple):
    """A solution."""

    #: For each claim, the devices in the order in which they were taken.
    devices: tuple[tuple[Taken, ...], ...]
    #: For each claim and request, the alternative that was taken.
    chosen: tuple[tuple[RequestPlan, ...], ...]


class SearchContext(NamedTuple):
    """What the search needs besides claims and node."""

    allocated: AllocatedDevices
    features: DeviceFeatures
    deadline: Deadline | None = None


def search(claims: Sequence[ClaimPlan], node: NodeDevices, context: SearchContext) -> Found | None:
    """Devices for all claims, or None. Raises AllocationError, NodeAllocationError and AllocationTimeout."""
    return _Search(claims, node, context).run()


class _Prepared(NamedTuple):
    """A request on this node."""

    n_devices: int
    #: The devices to take, if it asks for all.
    devices: tuple[tuple[PooledDevice, Pool], ...] = ()


class _Search:
    def __init__(self, claims: Sequence[ClaimPlan], node: NodeDevices, context: SearchContext) -> None:
        self._claims = claims
        self._node = node
        self._features = context.features
        self._deadline = context.deadline
        self._steps = 0
        self._state = SearchState(len(claims), context.allocated, context.features)
        self._prepared: dict[RequestPlan, _Prepared] = {}
        self._chosen: dict[tuple[int, int], RequestPlan] = {}
        self._constraints: list[list[Constraint]] = []
        self._selectable: dict[tuple[RequestPlan, PooledDevice], bool] = {}

    def run(self) -> Found | None:
        n_devices = sum(self._prepare(claim) for claim in self._claims)
        n_requests = sum(len(claim.requests) + 1 for claim in self._claims)
        with _enough_frames(n_devices + 2 * n_requests):
            outcome = self._next_claim(0)
        if outcome == FOUND:
            return Found(tuple(map(tuple, self._state.taken)), tuple(self._choices()))
        if outcome == TOO_MANY:
            raise AllocationError("allocation max size exceeded")
        if self._node.has_invalid:
            raise NodeAllocationError("invalid resource pools were encountered")
        return None

    def _choices(self) -> Iterator[tuple[RequestPlan, ...]]:
        for i, claim in enumerate(self._claims):
            yield tuple(self._chosen.get((i, j), plans[0]) for j, plans in enumerate(claim.requests))

    # --- before the search ------------------------------------------------------------------------

    def _prepare(self, claim: ClaimPlan) -> int:
        """Count the devices that the claim needs at least."""
        n_devices = 0
        for number, alternatives in enumerate(claim.requests):
            if number in claim.errors:
                raise AllocationError(claim.errors[number])
            for plan in alternatives:
                self._prepared[plan] = self._prepare_request(claim, plan)
            n_more = min(self._prepared[plan].n_devices for plan in alternatives)
            if self._features.facts.names_request_with_too_many_devices and n_devices + n_more > MAX_DEVICES:
                raise AllocationError(
                    f"claim {claim.key}, request {alternatives[0].base_name}: adding {n_more} devices "
                    f"exceeds the claim limit of {MAX_DEVICES}, with {n_devices} already accounted for"
                )
            n_devices += n_more
        if n_devices > MAX_DEVICES:
            raise AllocationError(
                f"claim {claim.key}: number of requested devices {n_devices} "
                f"exceeds the claim limit of {MAX_DEVICES}"
            )
        self._constraints.append([])
        for number, constraint in enumerate(claim.constraints):
            new = new_constraint(constraint, self._features)
            if new is None:
                raise AllocationError(
                    f"claim {claim.key}, constraint #{number}: empty constraint (unsupported constraint type?)"
                )
            self._constraints[-1].append(new)
        return n_devices

    def _prepare_request(self, claim: ClaimPlan, plan: RequestPlan) -> _Prepared:
        if plan.error:
            raise AllocationError(plan.error)
        if not plan.all_devices:
            return _Prepared(plan.count)
        devices: list[tuple[PooledDevice, Pool]] = []
        state = self._state
        include_consumed = self._features.facts.all_devices_include_consumed
        has_capacity = state.has_capacity_at_all if include_consumed else state.has_capacity
        for pool in self._node.pools:
            if not pool.is_usable:
                problem = "being updated" if pool.is_incomplete else "invalid"
                raise AllocationError(
                    f"claim {claim.key}, request {plan.name}: asks for all devices, "
                    f"but resource pool {pool} is currently {problem}"
                )
            for device in pool.devices:
                try:
                    if self._is_selectable(plan, device) and has_capacity(plan, device):
                        devices.append((device, pool))
                except CapacityError as error:
                    raise _capacity_error(claim, plan, device.id[-1], error) from None
        return _Prepared(len(devices), tuple(devices))

    # --- the search -------------------------------------------------------------------------------

    def _next_claim(self, i: int) -> int:
        return FOUND if i >= len(self._claims) else self._next_request(i, 0)

    def _next_request(self, i: int, j: int) -> int:
        claim = self._claims[i]
        if j >= len(claim.requests):
            # Other devices for this claim may leave the next one an alternative with fewer devices.
            outcome = self._next_claim(i + 1)
            return NONE if outcome == TOO_MANY else outcome
        alternatives = claim.requests[j]
        if not alternatives[0].parent:
            return self._next_device(i, j, alternatives[0], 0, 0)
        return self._first_available(i, j, alternatives)

    def _first_available(self, i: int, j: int, alternatives: Sequence[RequestPlan]) -> int:
        result = TOO_MANY
        for plan in alternatives:
            outcome = self._next_device(i, j, plan, 0, 0)
            if outcome == FOUND:
                self._chosen[i, j] = plan
                return FOUND
            if outcome == NONE:
                result = NONE
        return result

    def _next_device(self, i: int, j: int, plan: RequestPlan, n_taken: int, start: int) -> int:
        """Take the next device of a request, not before the one at *start*."""
        self._look_at_the_time()
        needed = self._prepared[plan]
        if plan.all_devices and not needed.devices:
            return NONE
        if n_taken >= needed.n_devices:
            return self._next_request(i, j + 1)
        if len(self._state.taken[i]) + needed.n_devices - n_taken > MAX_DEVICES:
            return TOO_MANY
        if plan.all_devices:
            device, pool = needed.devices[n_taken]
            return self._try(i, j, plan, n_taken, device, pool, start=0, must=True)
        if needed.n_devices - n_taken > 1 and not self._are_enough(i, plan, needed.n_devices - n_taken, start):
            return NONE
        for position in range(start, len(self._node.devices)):
            device, pool = self._node.devices[position]
            if self._is_candidate(i, plan, device):
                outcome = self._try(i, j, plan, n_taken, device, pool, start=position + 1)
                if outcome != NONE:
                    return outcome
        return NONE

    def _are_enough(self, i: int, plan: RequestPlan, n_needed: int, start: int) -> bool:
        """Whether there are as many devices from *start* on; otherwise trying all combinations is of no use.

        Looks at the devices as trying would, so an error of a selector is found here too.
        """
        for position in range(start, len(self._node.devices)):
            if self._is_candidate(i, plan, self._node.devices[position][0]):
                n_needed -= 1
                if not n_needed:
                    return True
        return False

    def _is_candidate(self, i: int, plan: RequestPlan, device: PooledDevice) -> bool:
        state = self._state
        if state.is_taken(i, plan, device) or not self._is_selectable(plan, device):
            return False
        try:
            return state.has_capacity(plan, device)
        except CapacityError as error:
            raise _capacity_error(self._claims[i], plan, "/".join(device.id), error) from None

    def _try(
        self,
        i: int,
        j: int,
        plan: RequestPlan,
        n_taken: int,
        device: PooledDevice,
        pool: Pool,
        start: int,
        must: bool = False,
    ) -> int:
        """Take the device and go on; give it back if that leads to no solution."""
        if not self._take(i, plan, device, pool, must=must):
            return NONE
        outcome = self._next_device(i, j, plan, n_taken + 1, start)
        if outcome != FOUND:
            self._state.give_back(i)
            self._leave_constraints(i, plan)
        return outcome

    def _take(self, i: int, plan: RequestPlan, device: PooledDevice, pool: Pool, *, must: bool) -> bool:
        state, features = self._state, self._features
        if state.is_blocked(i, plan, device):
            return False
        if device.counters and not features.partitionable_devices:
            return False
        if not state.has_counters(device, pool):
            return False
        if features.device_taints and not all(tolerates_any(plan.tolerations, each) for each in device.taints):
            return False
        if not self._satisfies_constraints(i, plan, device):
            if must:
                raise AllocationError(
                    f"claim {self._claims[i].key}, request {plan.name}: cannot add device "
                    f"{'/'.join(device.id)} because a claim constraint would not be satisfied"
                )
            return False
        if not state.has_capacity(plan, device):
            self._leave_constraints(i, plan)
            return False
        state.take(i, plan, device, pool)
        return True

    def _satisfies_constraints(self, i: int, plan: RequestPlan, device: PooledDevice) -> bool:
        added: list[Constraint] = []
        for constraint in self._constraints[i]:
            if not constraint.applies_to(plan.base_name, plan.full_name):
                continue
            if not constraint.add(plan.base_name, device):
                for each in added:
                    each.remove(plan.base_name)
                return False
            added.append(constraint)
        return True

    def _leave_constraints(self, i: int, plan: RequestPlan) -> None:
        for constraint in self._constraints[i]:
            if constraint.applies_to(plan.base_name, plan.full_name):
                constraint.remove(plan.base_name)

    def _is_selectable(self, plan: RequestPlan, device: PooledDevice) -> bool:
        """Whether the selectors match, and the device is meant for the node. Raises AllocationError."""
        if not self._features.binding_conditions and device.spec.binding_conditions:
            return False
        key = (plan, device)
        known = self._selectable.get(key)
        if known is None:
            known = self._selectable[key] = self._matches(plan, device)
        return known

    def _matches(self, plan: RequestPlan, device: PooledDevice) -> bool:
        for origin, expression in plan.selectors:
            matches = device.content.matches(expression)
            if matches is False:
                return False
            if matches is not True:
                raise AllocationError(self._selector_error(origin, matches, device))
        if not device.slice.spec.per_device_node_selection:
            return True
        return device_matches(device, self._node.node)

    def _selector_error(self, origin: str, error: str, device: PooledDevice) -> str:
        if not error.startswith(RUNTIME_ERROR) or not self._features.facts.explains_selector_errors:
            return f"{origin}: {error}"
        advice = _OPTIONAL if "no such key:" in error else ""
        return f"{origin} on device {'/'.join(device.id)}: {error}{advice}"

    def _look_at_the_time(self) -> None:
        self._steps += 1
        if self._deadline is not None and self._steps % _STEPS_BETWEEN_LOOKS == 0:
            self._deadline()


@contextmanager
def _enough_frames(depth: int) -> Iterator[None]:
    """The search recurses for every device; a pod with very many needs more than Python allows as a rule."""
    limit = sys.getrecursionlimit()
    if 3 * depth + _SPARE_FRAMES <= limit:
        yield
        return
    sys.setrecursionlimit(3 * depth + _SPARE_FRAMES + limit)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _capacity_error(claim: ClaimPlan, plan: RequestPlan, device: str, error: CapacityError) -> AllocationError:
    return AllocationError(
        f"claim {claim.key}, request {plan.name}: checking capacity for device {device}: {error}"
    )
