"""KubeSchedulerConfiguration v1: every field that kube-scheduler has, with its plain defaults.

Defaults that depend on other fields, and those for values that are present but empty, are in `defaults`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import msgspec

from bayplan.config.api_object import ApiObject, Float32, Int32, Int64, SetDuration
from bayplan.config.duration import Duration

KIND = "KubeSchedulerConfiguration"


class LeaderElectionConfiguration(ApiObject):
    """Leader election by a Lease."""

    leader_elect: bool = True
    lease_duration: SetDuration = Duration(0)
    renew_deadline: SetDuration = Duration(0)
    retry_period: SetDuration = Duration(0)
    resource_lock: str = ""
    resource_name: str = ""
    resource_namespace: str = ""


class ClientConnectionConfiguration(ApiObject):
    """The connection to the API server, with its rate limit."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: Float32 = 0.0
    burst: Int32 = 0


class Plugin(ApiObject):
    """A plugin at an extension point; the weight is for plugins that score."""

    name: str = ""
    weight: Int32 = 0


class PluginSet(ApiObject):
    """The plugins enabled and disabled at one extension point, relative to the defaults."""

    OMIT_EMPTY = frozenset({"enabled", "disabled"})

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class Plugins(ApiObject):
    """The plugin sets of a profile; `multiPoint` stands for all extension points that a plugin is on."""

    IF_FACT = MappingProxyType({"podGroupPostFilter": "has_pod_group_post_filter"})

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()


class PluginConfig(ApiObject):
    """The arguments of a plugin: a tree as read, later the plugin's own `Args`."""

    OMIT_EMPTY = frozenset({"args"})

    name: str = ""
    args: Any = None


class KubeSchedulerProfile(ApiObject):
    """A scheduler name and its plugins."""

    OMIT_EMPTY = frozenset({"scheduler_name", "percentage_of_nodes_to_score", "plugin_config"})

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class ExtenderManagedResource(ApiObject):
    """A resource that an extender manages."""

    OMIT_EMPTY = frozenset({"ignored_by_scheduler"})

    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(ApiObject):
    """The TLS settings of an extender."""

    OMIT_EMPTY = frozenset(
        {"insecure", "server_name", "cert_file", "key_file", "ca_file", "cert_data", "key_data", "ca_data"}
    )

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class Extender(ApiObject):
    """An HTTP service that takes part in scheduling. Every profile calls every extender."""

    OMIT_EMPTY = frozenset(
        {
            "filter_verb",
            "preempt_verb",
            "prioritize_verb",
            "weight",
            "bind_verb",
            "enable_https",
            "tls_config",
            "node_cache_capable",
            "managed_resources",
            "ignorable",
        }
    )

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(name="enableHTTPS", default=False)
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: SetDuration = Duration(0)
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class KubeSchedulerConfiguration(ApiObject):
    """The whole file."""

    OMIT_EMPTY = frozenset({"extenders", "delay_cache_until_active"})

    parallelism: Int32 = 16
    leader_election: LeaderElectionConfiguration = LeaderElectionConfiguration()
    client_connection: ClientConnectionConfiguration = ClientConnectionConfiguration()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
