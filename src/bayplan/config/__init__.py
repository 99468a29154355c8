"""KubeSchedulerConfiguration: loading, defaults, validation, expansion, migration.

    loaded = load(text, source="scheduler.yaml", catalogue=registry)
    loaded.profiles[0].points["score"]

An invalid configuration raises `ConfigError`, which contains every problem with file, line and path.
"""

from bayplan.config.effective import to_json, to_yaml
from bayplan.config.expand import EnabledPlugin, ExpandedProfile
from bayplan.config.field_path import Path
from bayplan.config.loading import Loaded, default, load, migrate
from bayplan.config.plugin_catalogue import EXTENSION_POINTS, Catalogue, PluginFacts, PluginNotLoaded
from bayplan.config.problems import ConfigError, FieldError, Problem
from bayplan.config.types import KubeSchedulerConfiguration

__all__ = [
    "EXTENSION_POINTS",
    "Catalogue",
    "ConfigError",
    "EnabledPlugin",
    "ExpandedProfile",
    "FieldError",
    "KubeSchedulerConfiguration",
    "Loaded",
    "Path",
    "PluginFacts",
    "PluginNotLoaded",
    "Problem",
    "default",
    "load",
    "migrate",
    "to_json",
    "to_yaml",
]
