"""TargetLoadPackingArgs and LoadVariationRiskBalancingArgs: the source of load metrics, and how they are
scored."""

from __future__ import annotations

from typing import Self

import msgspec

from bayplan.config.api_object import ApiObject, Int64, QuantityText
from bayplan.config.args.base import Args
from bayplan.config.field_path import Path
from bayplan.config.problems import FieldError, did_you_mean, join_or
from bayplan.model import Quantity, QuantityError

METRICS_SERVER = "KubernetesMetricsServer"
PROMETHEUS = "Prometheus"
PROVIDERS = (METRICS_SERVER, PROMETHEUS)
#: Supported upstream, but not by Bayplan.
SIGNALFX = "SignalFx"

DEFAULT_TARGET_UTILIZATION = 40
DEFAULT_REQUESTS = {"cpu": "1000m"}
DEFAULT_REQUESTS_MULTIPLIER = "1.5"

replace = msgspec.structs.replace


class MetricProviderSpec(ApiObject):
    """A metrics provider that is queried directly."""

    OMIT_EMPTY = frozenset({"type", "address", "token", "insecure_skip_verify"})

    type: str = ""
    address: str | None = None
    token: str | None = None
    insecure_skip_verify: bool | None = None


class TrimaranArgs(Args):
    """Common to the Trimaran plugins: a metrics provider, or the address of a load watcher instead."""

    OMIT_EMPTY = frozenset({"watcher_address"})

    metric_provider: MetricProviderSpec = MetricProviderSpec()
    watcher_address: str | None = None

    def defaulted(self) -> Self:
        provider = self.metric_provider
        if self.watcher_address is None and not provider.type:
            provider = replace(provider, type=METRICS_SERVER)
        if provider.type == PROMETHEUS and provider.insecure_skip_verify is None:
            provider = replace(provider, insecure_skip_verify=True)
        return replace(self, metric_provider=provider)

    def validate(self, path: Path) -> list[FieldError]:
        kind = self.metric_provider.type
        if self.watcher_address or kind in PROVIDERS:
            return []
        where = path / "metricProvider" / "type"
        if kind == SIGNALFX:
            hint = "run a load watcher beside it and give its watcherAddress"
            return [FieldError(where, "SignalFx is not yet supported as a direct provider", hint)]
        message = f'"{kind}" is not one of {join_or(PROVIDERS)}'
        return [FieldError(where, message, did_you_mean(kind, PROVIDERS))]


class TargetLoadPackingArgs(TrimaranArgs):
    OMIT_EMPTY = frozenset({"watcher_address"})

    #: What a container without requests and limits is expected to use.
    default_requests: dict[str, QuantityText] | None = None
    #: What a container without limits is expected to use, as a multiple of its request.
    default_requests_multiplier: str = DEFAULT_REQUESTS_MULTIPLIER
    #: In percent of a node's cpu.
    target_utilization: Int64 = DEFAULT_TARGET_UTILIZATION

    def defaulted(self) -> Self:
        target = self.target_utilization if self.target_utilization > 0 else DEFAULT_TARGET_UTILIZATION
        requests = DEFAULT_REQUESTS if self.default_requests is None else self.default_requests
        return replace(super().defaulted(), target_utilization=target, default_requests=requests)

    def validate(self, path: Path) -> list[FieldError]:
        errors = super().validate(path)
        for name, amount in (self.default_requests or {}).items():
            try:
                Quantity.parse(amount)
            except QuantityError as error:
                errors.append(FieldError(path / "defaultRequests" / name, str(error)))
        try:
            float(self.default_requests_multiplier)
        except ValueError:
            message = f'"{self.default_requests_multiplier}" is not a number'
            errors.append(FieldError(path / "defaultRequestsMultiplier", message, 'write it like "1.5"'))
        return errors


class LoadVariationRiskBalancingArgs(TrimaranArgs):
    OMIT_EMPTY = frozenset({"watcher_address"})

    #: Multiplies the standard deviation.
    safe_variance_margin: float = 1.0
    #: The degree of the root taken of the standard deviation.
    safe_variance_sensitivity: float = 1.0

    def defaulted(self) -> Self:
        margin, sensitivity = self.safe_variance_margin, self.safe_variance_sensitivity
        return replace(
            super().defaulted(),
            safe_variance_margin=margin if margin >= 0 else 1.0,
            safe_variance_sensitivity=sensitivity if sensitivity >= 0 else 1.0,
        )
