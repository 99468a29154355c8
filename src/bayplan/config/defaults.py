"""Defaults as kube-scheduler sets them, after decoding and before validation.

The content type is our one deviation: we speak JSON to the API server.
"""

from __future__ import annotations

import msgspec

from bayplan.config.args.base import Args
from bayplan.config.duration import Duration
from bayplan.config.plugin_catalogue import CachedCatalogue, PluginFacts
from bayplan.config.schema import fields_of
from bayplan.config.types import (
    ClientConnectionConfiguration,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)
from bayplan.release import Release

DEFAULT_SCHEDULER_NAME = "default-scheduler"
EXTENDER_TIMEOUT = Duration.seconds(5)
replace = msgspec.structs.replace


def default_configuration(
    config: KubeSchedulerConfiguration, catalogue: CachedCatalogue
) -> KubeSchedulerConfiguration:
    """Fill in all defaults. Arguments must be decoded already."""
    profiles = config.profiles or (KubeSchedulerProfile(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        # With several profiles each must have a name; validation reports a missing one.
        profiles = (replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    contention = config.enable_contention_profiling
    return replace(
        config,
        profiles=tuple(_profile(profile, catalogue) for profile in profiles),
        leader_election=_leader_election(config.leader_election),
        client_connection=_client_connection(config.client_connection),
        enable_contention_profiling=config.enable_profiling if contention is None else contention,
        extenders=tuple(_extender(extender) for extender in config.extenders),
    )


def _leader_election(election: LeaderElectionConfiguration) -> LeaderElectionConfiguration:
    return replace(
        election,
        lease_duration=election.lease_duration or Duration.seconds(15),
        renew_deadline=election.renew_deadline or Duration.seconds(10),
        retry_period=election.retry_period or Duration.seconds(2),
        resource_lock=election.resource_lock or "leases",
        resource_name=election.resource_name or "kube-scheduler",
        resource_namespace=election.resource_namespace or "kube-system",
    )


def _client_connection(connection: ClientConnectionConfiguration) -> ClientConnectionConfiguration:
    return replace(
        connection,
        content_type=connection.content_type or "application/json",
        qps=connection.qps or 50.0,
        burst=connection.burst or 100,
    )


def _extender(extender: Extender) -> Extender:
    return replace(extender, http_timeout=extender.http_timeout or EXTENDER_TIMEOUT)


def _profile(profile: KubeSchedulerProfile, catalogue: CachedCatalogue) -> KubeSchedulerProfile:
    plugins = merge_plugins(profile.plugins, catalogue)
    given = {config.name for config in profile.plugin_config}
    release = catalogue.release
    configs = [replace(config, args=_defaulted(config.args, release)) for config in profile.plugin_config]
    enabled = {plugin.name for plugin_set in plugin_sets(plugins).values() for plugin in plugin_set.enabled}
    for name in sorted(enabled - given):
        facts = catalogue.lookup(name)
        if facts and facts.args and (args := default_args(facts, release)) is not None:
            configs.append(PluginConfig(name=name, args=args))
    return replace(profile, plugins=plugins, plugin_config=tuple(configs))


def _defaulted(args: object, release: Release) -> object:
    return args.defaulted_in(release) if isinstance(args, Args) else args


def default_args(facts: PluginFacts, release: Release) -> Args | None:
    """The default arguments of a plugin; None if some field has no default."""
    if facts.args is None or any(info.required for info in fields_of(facts.args).values()):
        return None
    return facts.args().defaulted_in(release)


def plugin_sets(plugins: Plugins) -> dict[str, PluginSet]:
    """The plugin sets of a profile by extension point, including `multiPoint`."""
    return {name: getattr(plugins, info.name) for name, info in fields_of(Plugins).items()}


def merge_plugins(custom: Plugins, catalogue: CachedCatalogue) -> Plugins:
    """The user's sets, with the default plugins in `multiPoint`."""
    defaults = PluginSet(
        enabled=tuple(Plugin(name=name, weight=weight) for name, weight in catalogue.default_plugins)
    )
    merged = {}
    for point, info in fields_of(Plugins).items():
        own: PluginSet = getattr(custom, info.name)
        merged[info.name] = merge_plugin_set(defaults if point == "multiPoint" else PluginSet(), own)
    return Plugins(**merged)


def merge_plugin_set(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    """The defaults that are not disabled, with the user's weights; then the other plugins of the user."""
    disabled = {plugin.name for plugin in custom.disabled}
    by_name = {plugin.name: (i, plugin) for i, plugin in enumerate(custom.enabled)}
    enabled: list[Plugin] = []
    replaced = set()
    for plugin in defaults.enabled:
        if "*" in disabled or plugin.name in disabled:
            continue
        if plugin.name in by_name:
            i, plugin = by_name[plugin.name]
            replaced.add(i)
        enabled.append(plugin)
    enabled += [plugin for i, plugin in enumerate(custom.enabled) if i not in replaced]
    named = tuple(Plugin(name=plugin.name) for plugin in custom.disabled)
    return PluginSet(enabled=tuple(enabled), disabled=named)
