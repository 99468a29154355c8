"""What a solution of the search becomes in the status of the claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from bayplan.devices.allocation_errors import AllocationError
from bayplan.devices.claim_plans import ClaimPlan, RequestPlan
from bayplan.devices.device_features import DeviceFeatures
from bayplan.devices.device_search import Found
from bayplan.devices.search_state import Taken
from bayplan.model import (
    IN,
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceClaimConfiguration,
    DeviceRequestAllocationResult,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from bayplan.model.node_selectors import NAME_FIELD


def allocation_results(
    claims: Sequence[ClaimPlan],
    found: Found,
    node_name: str,
    features: DeviceFeatures,
    new_share_id: Callable[[], str],
) -> list[AllocationResult]:
    """The allocation of each claim. Raises AllocationError."""
    return [
        AllocationResult(
            devices=DeviceAllocationResult(
                results=tuple(_result(each, features, new_share_id) for each in devices),
                config=_config(claim, chosen, features),
            ),
            node_selector=_node_selector(claim, devices, node_name),
        )
        for claim, devices, chosen in zip(claims, found.devices, found.chosen, strict=True)
    ]


def _result(
    taken: Taken, features: DeviceFeatures, new_share_id: Callable[[], str]
) -> DeviceRequestAllocationResult:
    device, plan = taken.device, taken.plan
    consumption = taken.consumption
    return DeviceRequestAllocationResult(
        request=plan.full_name,
        driver=device.id[0],
        pool=device.id[1],
        device=device.id[2],
        admin_access=True if plan.admin_access else None,
        tolerations=plan.tolerations,
        binding_conditions=device.spec.binding_conditions if features.binding_conditions else (),
        binding_failure_conditions=device.spec.binding_failure_conditions if features.binding_conditions else (),
        share_id=new_share_id() if consumption is not None else None,
        consumed_capacity={name: str(each) for name, each in consumption.quantities.items()}
        if consumption
        else {},
    )


# --- configuration ------------------------------------------------------------------------------------------


def _config(
    claim: ClaimPlan, chosen: Sequence[RequestPlan], features: DeviceFeatures
) -> tuple[DeviceAllocationConfiguration, ...]:
    condenses = features.facts.condenses_device_configuration
    found = (*_class_config(chosen), *_claim_config(claim, chosen, once=condenses))
    if not condenses:
        return found
    return tuple(
        msgspec.structs.replace(config, requests=()) if all(_names(config, plan) for plan in chosen) else config
        for config in found
    )


def _class_config(chosen: Sequence[RequestPlan]) -> Iterator[DeviceAllocationConfiguration]:
    """The configuration of each class, once, with the requests that it is for."""
    requests: dict[str, list[str]] = {}
    classes = {}
    for plan in chosen:
        if plan.device_class is not None:
            classes[plan.device_class.name] = plan.device_class
            requests.setdefault(plan.device_class.name, []).append(plan.full_name)
    for name, device_class in classes.items():
        for config in device_class.spec.config:
            yield DeviceAllocationConfiguration(
                source="FromClass", requests=tuple(requests[name]), opaque=config.opaque
            )


def _claim_config(
    claim: ClaimPlan, chosen: Sequence[RequestPlan], *, once: bool
) -> Iterator[DeviceAllocationConfiguration]:
    """The configuration of the claim: for every request that it names, or *once* for all of them."""
    for config in claim.claim.spec.devices.config:
        times = 1 if not config.requests else sum(_names(config, plan) for plan in chosen)
        for _ in range(min(times, 1) if once else times):
            yield DeviceAllocationConfiguration(source="FromClaim", requests=config.requests, opaque=config.opaque)


def _names(config: DeviceClaimConfiguration | DeviceAllocationConfiguration, plan: RequestPlan) -> bool:
    return plan.base_name in config.requests or plan.full_name in config.requests


# --- nodes ------------------------------------------------------------------------------------------------


def _node_selector(claim: ClaimPlan, devices: Sequence[Taken], node_name: str) -> NodeSelector | None:
    """Where the devices can be used: one node if any of them is local to it, None for everywhere."""
    expressions: list[NodeSelectorRequirement] = []
    fields: list[NodeSelectorRequirement] = []
    for taken in devices:
        spec, slice_ = taken.device.spec, taken.device.slice.spec
        place = spec if slice_.per_device_node_selection else slice_
        if place.node_name is not None or spec.binds_to_node:
            return _one_node(node_name)
        terms = place.node_selector.node_selector_terms if place.node_selector is not None else ()
        if len(terms) > 1:
            raise AllocationError(
                f"create NodeSelector for claim {claim.claim.name}: "
                f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            )
        for term in terms:
            _add_new(fields, term.match_fields)
            _add_new(expressions, term.match_expressions)
    if not fields and not expressions:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(expressions), match_fields=tuple(fields))
    return NodeSelector(node_selector_terms=(term,))


def _one_node(name: str) -> NodeSelector:
    requirement = NodeSelectorRequirement(key=NAME_FIELD, operator=IN, values=(name,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(requirement,)),))


def _add_new(to: list[NodeSelectorRequirement], requirements: Sequence[NodeSelectorRequirement]) -> None:
    for new in requirements:
        if not any(
            each.key == new.key and each.operator == new.operator and set(each.values) == set(new.values)
            for each in to
        ):
            to.append(new)
