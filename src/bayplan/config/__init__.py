"""KubeSchedulerConfiguration: loading, defaults, validation, expansion, migration.

    loaded = load(text, source="scheduler.yaml", catalogue=registry)
    loaded.profiles[0].points["score"]

A wrong configuration raises `ConfigError`, which carries every problem with file, line and path.
"""

from bayplan.config.catalogue import EXTENSION_POINTS, Catalogue, PluginFacts, PluginNotLoaded
from bayplan.config.effective import to_json, to_yaml
from bayplan.config.expand import EnabledPlugin, Profile
from bayplan.config.loading import Loaded, default, load, migrate
from bayplan.config.paths import Path
from bayplan.config.problems import ConfigError, FieldError, Problem
from bayplan.config.types import KubeSchedulerConfiguration

__all__ = [
    "EXTENSION_POINTS",
    "Catalogue",
    "ConfigError",
    "EnabledPlugin",
    "FieldError",
    "KubeSchedulerConfiguration",
    "Loaded",
    "Path",
    "PluginFacts",
    "PluginNotLoaded",
    "Problem",
    "Profile",
    "default",
    "load",
    "migrate",
    "to_json",
    "to_yaml",
]
