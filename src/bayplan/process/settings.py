"""Settings: what the flags set, apart from the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bayplan.extender import BreakerSettings
from bayplan.observe.klog import VModule
from bayplan.queue.queue import MAX_UNSCHEDULABLE_SECONDS
from bayplan.release import DEFAULT, Release
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
    """Authentication and authorization of requests to the endpoints."""

    #: The clusters that review tokens and access; empty: the cluster of the scheduler.
    authentication_kubeconfig: str = ""
    authorization_kubeconfig: str = ""
    token_ttl_seconds: float = 10.0
    allowed_ttl_seconds: float = 10.0
    denied_ttl_seconds: float = 10.0
    always_allowed_paths: tuple[str, ...] = ALWAYS_ALLOWED_PATHS


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings for `main`; the defaults are those without any flag."""

    kubeconfig: str = ""
    master: str = ""
    log: LogSettings = field(default_factory=LogSettings)
    #: None: no endpoints are served.
    serving: ServingOptions | None = field(default_factory=ServingOptions)
    access: AccessSettings = field(default_factory=AccessSettings)
    #: What is emulated, with its feature gates.
    release: Release = DEFAULT
    max_unschedulable_seconds: float = MAX_UNSCHEDULABLE_SECONDS
    #: Seconds; None: calls of plugins are never interrupted.
    plugin_timeout: float | None = None
    #: None: extenders are always called.
    extender_breaker: BreakerSettings | None = None
    #: Whether to update the status of PodGroups and ElasticQuotas too.
    controllers: bool = False
    #: Whether the results of attempts are written to the pods, as kube-scheduler-simulator does.
    annotates_results: bool = False
    disabled_metrics: tuple[str, ...] = ()
    #: Every flag as text, for /flagz.
    flags: Mapping[str, str] = field(default_factory=dict)
    #: Flag → why it has no effect, for the flags that were given.
    without_effect: Mapping[str, str] = field(default_factory=dict)
