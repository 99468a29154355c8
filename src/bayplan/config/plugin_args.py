"""Decodes `pluginConfig` into the `Args` of each plugin, and resolves plugin references to names."""

from __future__ import annotations

import msgspec

from bayplan.config.api_object import API_VERSION
from bayplan.config.args.base import Args
from bayplan.config.decode import Decoder
from bayplan.config.field_path import ROOT, Path
from bayplan.config.plugin_catalogue import CachedCatalogue
from bayplan.config.problems import FieldError, Mark, did_you_mean
from bayplan.config.schema import fields_of
from bayplan.config.tree import Mapping, Node, Scalar, describe, is_null, plain
from bayplan.config.types import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)

replace = msgspec.structs.replace
_TYPE_META = frozenset({"apiVersion", "kind"})
_NOTHING = Scalar(None, Mark(0, 0))


class PluginResolver:
    """Looks up every plugin of a configuration in the catalogue, and decodes its arguments."""

    def __init__(self, catalogue: CachedCatalogue) -> None:
        self.errors: list[FieldError] = []
        self.warnings: list[FieldError] = []
        self.broken: list[Path] = []
        self._catalogue = catalogue

    def resolve(self, config: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
        """The configuration with real plugin names and typed arguments."""
        path = ROOT / "profiles"
        profiles = tuple(self._profile(profile, path / i) for i, profile in enumerate(config.profiles))
        return replace(config, profiles=profiles)

    def _profile(self, profile: KubeSchedulerProfile, path: Path) -> KubeSchedulerProfile:
        plugins = Plugins(
            **{
                info.name: self._plugin_set(getattr(profile.plugins, info.name))
                for info in fields_of(Plugins).values()
            }
        )
        where = path / "pluginConfig"
        configs = tuple(self._config(config, where / i) for i, config in enumerate(profile.plugin_config))
        return replace(profile, plugins=plugins, plugin_config=configs)

    def _plugin_set(self, plugin_set: PluginSet) -> PluginSet:
        lists = {}
        for name in ("enabled", "disabled"):
            plugins: tuple[Plugin, ...] = getattr(plugin_set, name)
            lists[name] = tuple(replace(plugin, name=self._real_name(plugin.name)) for plugin in plugins)
        return replace(plugin_set, **lists)

    def _real_name(self, name: str) -> str:
        """The name of the class that `plugins.py:Mine` refers to; other names unchanged."""
        if ":" not in name:
            return name
        facts = self._catalogue.lookup(name)
        return facts.name if facts else name

    def _config(self, config: PluginConfig, path: Path) -> PluginConfig:
        name = self._real_name(config.name)
        facts = self._catalogue.lookup(name)
        args = config.args
        if facts is not None and facts.args is not None:
            args = self._args(args, name, facts.args, path / "args")
        elif args is not None:
            args = plain(args)
        return replace(config, name=name, args=args)

    def _args(self, node: Node | None, name: str, cls: type[Args], path: Path) -> Args:
        decoder = Decoder()
        if isinstance(node, Mapping):
            self.errors += self._type_errors(node, name, cls, path)
            self.warnings += [
                FieldError(path / field, f"{name} no longer has this argument; it is ignored", became)
                for field, became in cls.RETIRED.items()
                if node.get(field) is not None
            ]
        args: Args = decoder.decode_object(node or _NOTHING, cls, path, skip=_TYPE_META | cls.RETIRED.keys())
        self.errors += decoder.errors
        self.broken += decoder.broken
        return args

    def _type_errors(self, node: Mapping, name: str, cls: type[Args], path: Path) -> list[FieldError]:
        errors = []
        for key, wanted in (("apiVersion", API_VERSION), ("kind", cls.kind())):
            value = node.get(key)
            if value is None or is_null(value):
                continue
            if not (isinstance(value, Scalar) and isinstance(value.value, str)):
                errors.append(FieldError(path / key, f"{describe(value)} is not a string"))
            elif value.value not in ("", wanted):
                message = f'the arguments of {name} have the {key} "{wanted}", not "{value.value}"'
                errors.append(FieldError(path / key, message, "the field can be omitted"))
        return errors


def unknown_name_warnings(config: KubeSchedulerConfiguration, catalogue: CachedCatalogue) -> list[FieldError]:
    """Unknown names that kube-scheduler ignores silently: in pluginConfig and under disabled."""
    known = set(catalogue.names()) | {"*"}
    warnings = []
    for i, profile in enumerate(config.profiles):
        path = ROOT / "profiles" / i
        for j, plugin_config in enumerate(profile.plugin_config):
            if plugin_config.name not in known:
                message = f'there is no plugin "{plugin_config.name}"; its arguments are ignored'
                hint = did_you_mean(plugin_config.name, known)
                warnings.append(FieldError(path / "pluginConfig" / j, message, hint))
        for point, info in fields_of(Plugins).items():
            for j, plugin in enumerate(getattr(profile.plugins, info.name).disabled):
                if plugin.name not in known:
                    where = path / "plugins" / point / "disabled" / j
                    message = f'there is no plugin "{plugin.name}" to disable'
                    warnings.append(FieldError(where, message, did_you_mean(plugin.name, known)))
    return warnings
