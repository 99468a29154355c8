"""Settings: what the flags say, beside the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bayplan.extender import BreakerSettings
from bayplan.observe.features import FeatureGates
from bayplan.observe.klog import VModule
from bayplan.queue.queue import MAX_UNSCHEDULABLE_SECONDS
from bayplan.server import ServingOptions
from bayplan.server.authorization import ALWAYS_ALLOWED_PATHS


@dataclass(frozen=True, slots=True)
class LogSettings:
    verbosity: int = 0
    #: `text` or `json`.
    form: str = "text"
    modules: tuple[VModule, ...] = ()
    split_stream: bool = False


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """Who may ask what on our port: where to find out, and how long to remember."""

    #: Where tokens and access are reviewed; empty: where pods are scheduled.
    authentication_kubeconfig: str = ""
    authorization_kubeconfig: str = ""
    token_ttl_seconds: float = 10.0
    allowed_ttl_seconds: float = 10.0
    denied_ttl_seconds: float = 10.0
    always_allowed_paths: tuple[str, ...] = ALWAYS_ALLOWED_PATHS


@dataclass(frozen=True, slots=True)
class Settings:
    """What `main` is given; without any flag it is this."""

    kubeconfig: str = ""
    master: str = ""
    log: LogSettings = field(default_factory=LogSettings)
    #: None: no port is opened.
    serving: ServingOptions | None = field(default_factory=ServingOptions)
    access: AccessSettings = field(default_factory=AccessSettings)
    gates: FeatureGates = field(default_factory=lambda: FeatureGates({}))
    max_unschedulable_seconds: float = MAX_UNSCHEDULABLE_SECONDS
    #: None: extenders are asked whatever they did before.
    extender_breaker: BreakerSettings | None = None
    #: Whether to keep the status of PodGroups and ElasticQuotas as well.
    controllers: bool = False
    disabled_metrics: tuple[str, ...] = ()
    #: Every flag as text, for /flagz.
    flags: Mapping[str, str] = field(default_factory=dict)
    #: Flag → why it has no effect, for those that were given.
    without_effect: Mapping[str, str] = field(default_factory=dict)
