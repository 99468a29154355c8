"""Validates a defaulted configuration like kube-scheduler, with the same field paths."""

from __future__ import annotations

from bayplan.config.api_object import API_VERSION
from bayplan.config.args.base import Args
from bayplan.config.defaults import plugin_sets
from bayplan.config.field_path import ROOT, Path
from bayplan.config.name_rules import extended_resource_faults
from bayplan.config.problems import FieldError
from bayplan.config.types import (
    ClientConnectionConfiguration,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginSet,
)
from bayplan.release import Release

#: Removed plugins, which must not be enabled → their replacements.
REMOVED_PLUGINS = {
    "AzureDiskLimits": "NodeVolumeLimits",
    "CinderLimits": "NodeVolumeLimits",
    "EBSLimits": "NodeVolumeLimits",
    "GCEPDLimits": "NodeVolumeLimits",
}


def validate_configuration(config: KubeSchedulerConfiguration, release: Release) -> list[FieldError]:
    """The errors for which kube-scheduler of *release* would refuse the configuration, before it builds profiles
    and extenders."""
    errors = _client_connection_errors(config.client_connection, ROOT / "clientConnection")
    errors += _leader_election_errors(config.leader_election, ROOT / "leaderElection")
    if config.parallelism <= 0:
        errors.append(FieldError(ROOT / "parallelism", f"{config.parallelism} must be greater than 0"))
    errors += _profiles_errors(config.profiles, ROOT / "profiles", release)
    errors += _percentage_errors(config.percentage_of_nodes_to_score, ROOT / "percentageOfNodesToScore")
    initial, largest = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if initial <= 0:
        errors.append(FieldError(ROOT / "podInitialBackoffSeconds", f"{initial} must be greater than 0"))
    if largest < initial:
        message = f"{largest} must not be less than podInitialBackoffSeconds, which is {initial}"
        errors.append(FieldError(ROOT / "podMaxBackoffSeconds", message))
    return errors + _extenders_errors(config.extenders, ROOT / "extenders")


def _client_connection_errors(connection: ClientConnectionConfiguration, path: Path) -> list[FieldError]:
    if connection.burst >= 0:
        return []
    return [FieldError(path / "burst", f"{connection.burst} must not be negative")]


def _leader_election_errors(election: LeaderElectionConfiguration, path: Path) -> list[FieldError]:
    if not election.leader_elect:
        return []
    errors = []
    durations = {
        "leaseDuration": election.lease_duration,
        "renewDeadline": election.renew_deadline,
        "retryPeriod": election.retry_period,
    }
    for name, duration in durations.items():
        if duration <= 0:
            errors.append(FieldError(path / name, f"{duration} must be greater than 0"))
    if election.lease_duration <= election.renew_deadline:
        deadline = election.renew_deadline
        message = f"{election.lease_duration} must be greater than renewDeadline, which is {deadline}"
        errors.append(FieldError(path / "leaseDuration", message))
    if election.resource_lock != "leases":
        message = f'"{election.resource_lock}" is no longer supported; only "leases" is'
        errors.append(FieldError(path / "resourceLock", message, 'write "leases" or omit it'))
    return errors


def _percentage_errors(percentage: int | None, path: Path) -> list[FieldError]:
    if percentage is None or 0 <= percentage <= 100:
        return []
    return [FieldError(path, f"{percentage} is not between 0 and 100")]


def _profiles_errors(profiles: tuple[KubeSchedulerProfile, ...], path: Path, release: Release) -> list[FieldError]:
    errors = []
    seen: dict[str, int] = {}
    for i, profile in enumerate(profiles):
        name = profile.scheduler_name or ""
        if not name:
            errors.append(FieldError(path / i / "schedulerName", "a value is required", _several(profiles)))
        if name in seen:
            message = f'"{name}" is already the name of profiles[{seen[name]}]; every profile has its own'
            errors.append(FieldError(path / i / "schedulerName", message))
        seen[name] = i
        errors += _percentage_errors(profile.percentage_of_nodes_to_score, path / i / "percentageOfNodesToScore")
        errors += _plugin_set_errors(profile, path / i / "plugins")
        errors += _plugin_config_errors(profile, path / i / "pluginConfig", release)
    return errors + _queue_sort_errors(profiles, path)


def _several(profiles: tuple[KubeSchedulerProfile, ...]) -> str:
    return "only a single profile may omit the name" if len(profiles) > 1 else ""


def _plugin_set_errors(profile: KubeSchedulerProfile, path: Path) -> list[FieldError]:
    return [
        _removed(plugin.name, path / point / "enabled" / i)
        for point, plugin_set in plugin_sets(profile.plugins).items()
        if point not in ("multiPoint", "placementGenerate", "placementScore")
        for i, plugin in enumerate(plugin_set.enabled)
        if plugin.name in REMOVED_PLUGINS
    ]


def _removed(name: str, path: Path) -> FieldError:
    message = f'the plugin "{name}" was removed (the configuration is {API_VERSION})'
    return FieldError(path, message, f"use {REMOVED_PLUGINS[name]}, which is on by default")


def _plugin_config_errors(profile: KubeSchedulerProfile, path: Path, release: Release) -> list[FieldError]:
    errors = []
    seen: dict[str, int] = {}
    for i, config in enumerate(profile.plugin_config):
        if config.name in seen:
            message = f'"{config.name}" is configured twice; first in pluginConfig[{seen[config.name]}]'
            errors.append(FieldError(path / i, message, "merge the two"))
        seen.setdefault(config.name, i)
        if config.name in REMOVED_PLUGINS:
            errors.append(_removed(config.name, path / i))
        elif isinstance(config.args, Args) and not config.args.CHECKED_WHEN_USED:
            errors += config.args.errors_in(release, path / i / "args")
    return errors


def _queue_sort_errors(profiles: tuple[KubeSchedulerProfile, ...], path: Path) -> list[FieldError]:
    """All profiles share one queue, so they must have the same QueueSort plugin."""
    first: PluginSet = profiles[0].plugins.queue_sort
    errors = []
    if len(first.enabled) > 1:
        where = path / 0 / "plugins" / "queueSort"
        message = f"only one queue sort plugin can be enabled, not {len(first.enabled)}"
        errors.append(FieldError(where / "enabled", message, upstream_path=f"{where}.Enabled"))
    name = first.enabled[0].name if first.enabled else ""
    first_args = next((config.args for config in reversed(profiles[0].plugin_config) if config.name == name), None)
    for i, profile in enumerate(profiles[1:], start=1):
        if profile.plugins.queue_sort != first:
            message = "must be the same in all profiles, because they share one queue"
            errors.append(FieldError(path / i / "plugins" / "queueSort", message))
        for j, config in enumerate(profile.plugin_config):
            if config.name == name and config.args != first_args:
                where = path / i / "pluginConfig"
                message = f"the arguments of the queue sort plugin {name} must be the same in all profiles"
                errors.append(FieldError(where / j / "args", message, upstream_path=f"{where}.args"))
    return errors


def _extenders_errors(extenders: tuple[Extender, ...], path: Path) -> list[FieldError]:
    errors = []
    managed: set[str] = set()
    for i, extender in enumerate(extenders):
        if extender.prioritize_verb and extender.weight <= 0:
            message = f"an extender with a prioritizeVerb needs a weight greater than 0, not {extender.weight}"
            errors.append(FieldError(path / i / "weight", message))
        for j, resource in enumerate(extender.managed_resources):
            where = path / i / "managedResources" / j / "name"
            errors += [FieldError(where, fault) for fault in extended_resource_faults(resource.name)]
            if resource.name in managed:
                errors.append(FieldError(where, f'"{resource.name}" is managed by an extender already'))
            managed.add(resource.name)
    binders = [i for i, extender in enumerate(extenders) if extender.bind_verb]
    if len(binders) > 1:
        names = " and ".join(f"extenders[{i}]" for i in binders)
        message = f"only one extender can have a bindVerb, but {names} have one"
        errors.append(FieldError(path, message))
    return errors
