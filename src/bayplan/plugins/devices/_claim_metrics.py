"""The metrics of DynamicResources, with the names and labels of kube-scheduler."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.framework import Handle
    from bayplan.framework.handle import Counter, Histogram
    from bayplan.model import ResourceClaim

_CONDITIONS: Final = "scheduler_dra_bindingconditions"
_LABELS: Final = ("profile", "driver", "status")
_WAIT_SECONDS: Final = tuple(0.1 * 2**i for i in range(14))


class ClaimMetrics:
    """Each metric is declared when it is first needed: most clusters need none of them."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._names_owner = handle.release.facts.names_owner_of_created_claims

    def claim_created(self, status: str) -> None:
        """A claim for extended resources; *status* is success or failure."""
        labels = (status, "false", "", "Pod") if self._names_owner else (status,)
        self._creates.labels(*labels).inc()

    def devices_awaited(self, claims: Iterable[ResourceClaim], seconds: float, status: str) -> None:
        """Devices with binding conditions were waited for; *status* is success, failure, timeout or error."""
        profile = self._handle.profile_name
        for claim in claims:
            allocation = claim.status.allocation
            for result in allocation.devices.results if allocation is not None else ():
                self._wait_duration.labels(profile, result.driver, status).observe(seconds)
                if result.binding_conditions:
                    self._allocations.labels(profile, result.driver, status).inc()

    @cached_property
    def _creates(self) -> Counter:
        metrics = self._handle.metrics
        if not self._names_owner:
            text = "[ALPHA] Number of ResourceClaims creation requests within scheduler"
            return metrics.counter("scheduler_resourceclaim_creates_total", text, "status")
        text = (
            "[ALPHA] Number of ResourceClaims creation requests, categorized by creation status, admin access, "
            "and owning API group and kind (either Pod or scheduling.k8s.io/PodGroup)"
        )
        labels = ("status", "admin_access", "owner_api_group", "owner_api_kind")
        return metrics.counter("dynamic_resource_allocation_resourceclaim_creates_total", text, *labels)

    @cached_property
    def _allocations(self) -> Counter:
        text = (
            "[ALPHA] Number of allocations using devices with BindingConditions, counted per driver per "
            "scheduling attempt"
        )
        return self._handle.metrics.counter(f"{_CONDITIONS}_allocations_total", text, *_LABELS)

    @cached_property
    def _wait_duration(self) -> Histogram:
        text = "[ALPHA] Time in seconds spent waiting for BindingConditions to be satisfied during PreBind."
        name = f"{_CONDITIONS}_wait_duration_seconds"
        return self._handle.metrics.histogram(name, text, *_LABELS, buckets=_WAIT_SECONDS)
