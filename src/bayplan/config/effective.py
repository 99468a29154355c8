"""The effective configuration, in the form in which `kube-scheduler --write-config-to` prints it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import yaml

from bayplan.config.api_object import API_VERSION
from bayplan.config.args.base import Args
from bayplan.config.encode import encode
from bayplan.config.expand import ExpandedProfile
from bayplan.config.plugin_catalogue import SCORE_POINTS
from bayplan.config.schema import absent_fields
from bayplan.config.types import KIND, KubeSchedulerConfiguration, KubeSchedulerProfile, Plugins
from bayplan.release import Release


def effective_configuration(
    config: KubeSchedulerConfiguration, profiles: Sequence[ExpandedProfile], release: Release
) -> dict[str, Any]:
    """All fields with their defaults; `pluginConfig` only for plugins of the profile."""
    values = encode(config)
    values["profiles"] = [
        _profile(profile, expanded, release) for profile, expanded in zip(config.profiles, profiles, strict=True)
    ]
    return {"apiVersion": API_VERSION, "kind": KIND, **values}


def expanded_configuration(profiles: Sequence[ExpandedProfile]) -> dict[str, Any]:
    """Per scheduler name and extension point: the plugins in the order in which they run, with weights."""
    return {
        profile.scheduler_name: {
            point: [
                {"name": plugin.name, "weight": plugin.weight} if point in SCORE_POINTS else {"name": plugin.name}
                for plugin in plugins
            ]
            for point, plugins in profile.points.items()
            if plugins
        }
        for profile in profiles
    }


def _profile(profile: KubeSchedulerProfile, expanded: ExpandedProfile, release: Release) -> dict[str, Any]:
    values: dict[str, Any] = encode(profile)
    for name in absent_fields(Plugins, release):
        del values["plugins"][name]
    values.pop("pluginConfig", None)
    configs = [{"name": name, "args": _args(args)} for name, args in sorted(expanded.args.items())]
    if configs:
        values["pluginConfig"] = configs
    return values


def _args(args: Any) -> Any:
    if isinstance(args, Args):
        return {"apiVersion": API_VERSION, "kind": args.kind(), **encode(args)}
    return encode(args)


def to_json(values: Any) -> str:
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def to_yaml(values: Any) -> str:
    """YAML with sorted keys and unindented lists, as Kubernetes prints it."""
    return yaml.dump(values, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=10**6)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True
