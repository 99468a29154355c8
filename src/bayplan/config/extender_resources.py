"""Applies the resources that extenders manage and the scheduler ignores to the profiles."""

from __future__ import annotations

import msgspec

from bayplan.config.args.resources import NodeResourcesFitArgs
from bayplan.config.field_path import ROOT
from bayplan.config.problems import FieldError
from bayplan.config.types import KubeSchedulerConfiguration, KubeSchedulerProfile

replace = msgspec.structs.replace
FIT = "NodeResourcesFit"


def apply_ignored_resources(
    config: KubeSchedulerConfiguration,
) -> tuple[KubeSchedulerConfiguration, list[FieldError]]:
    """`ignoredByScheduler` resources replace the `ignoredResources` of NodeResourcesFit in every profile."""
    names = tuple(
        resource.name
        for extender in config.extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    if not names:
        return config, []
    errors = []
    profiles = []
    for i, profile in enumerate(config.profiles):
        if not any(isinstance(plugin.args, NodeResourcesFitArgs) for plugin in profile.plugin_config):
            message = f"an extender has {names[0]} ignoredByScheduler, but this profile has no {FIT} to ignore it"
            errors.append(FieldError(ROOT / "profiles" / i, message, f"enable {FIT} or give it a pluginConfig"))
        profiles.append(_with_ignored(profile, names))
    return replace(config, profiles=tuple(profiles)), errors


def _with_ignored(profile: KubeSchedulerProfile, names: tuple[str, ...]) -> KubeSchedulerProfile:
    configs = (
        replace(plugin, args=replace(plugin.args, ignored_resources=names))
        if plugin.name == FIT and isinstance(plugin.args, NodeResourcesFitArgs)
        else plugin
        for plugin in profile.plugin_config
    )
    return replace(profile, plugin_config=tuple(configs))
