"""Leases."""

from __future__ import annotations

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.validation.field_errors import forbidden, invalid
from bayplan.apiserver.validation.name_validation import qualified_name_errors


class LeaseStrategy(RestStrategy):
    """coordination.k8s.io/v1 Lease."""

    allows_create_on_update = True
    allows_unconditional_update = False

    def validate(self, obj: Object) -> list[StatusCause]:
        spec = obj.get("spec", {})
        found = []
        if spec.get("leaseDurationSeconds", 1) <= 0:
            text = "must be greater than 0"
            found.append(invalid("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], text))
        if spec.get("leaseTransitions", 0) < 0:
            text = "must be greater than or equal to 0"
            found.append(invalid("spec.leaseTransitions", spec["leaseTransitions"], text))
        strategy = spec.get("strategy")
        if strategy is not None and "/" not in strategy and strategy != "OldestEmulationVersion":
            text = "must be a standard strategy or fully qualified"
            found.append(invalid("spec.strategy", strategy, text))
        elif strategy is not None and qualified_name_errors(strategy):
            found.append(invalid("spec.strategy", strategy, qualified_name_errors(strategy)[0]))
        if spec.get("preferredHolder") and not strategy:
            found.append(forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))
        return found
