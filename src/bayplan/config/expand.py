"""Expands a defaulted profile: which plugins run at each extension point, in which order.

Precedence: what an extension point enables itself, then what `multiPoint` enables explicitly, then the
default plugins. The order within a point: plugins of the point that also come from `multiPoint` (in the
point's order), then the rest of `multiPoint`, then the rest of the point.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from bayplan.config.defaults import plugin_sets
from bayplan.config.field_path import Path
from bayplan.config.plugin_catalogue import EXTENSION_POINTS, SCORE_POINTS, CachedCatalogue, PluginFacts
from bayplan.config.problems import FieldError, did_you_mean
from bayplan.config.types import KubeSchedulerProfile, Plugin, PluginSet

MAX_SCORE = 100  # upstream MaxNodeScore
_INT64 = 2**64


class EnabledPlugin(NamedTuple):
    """A plugin at an extension point; the weight is 0 where plugins have none."""

    name: str
    weight: int = 0


class ExpandedProfile(msgspec.Struct, frozen=True, kw_only=True):
    """A profile with its plugins resolved."""

    scheduler_name: str
    percentage_of_nodes_to_score: int | None
    #: Extension point → its plugins, in the order in which they run. Contains every point.
    points: dict[str, tuple[EnabledPlugin, ...]]
    #: Plugin → its arguments (`Args`; for plugins that declare no class, the bare value as read).
    args: dict[str, Any]


class Expansion:
    """Expands one profile and collects its errors."""

    def __init__(
        self, profile: KubeSchedulerProfile, written: KubeSchedulerProfile, path: Path, catalogue: CachedCatalogue
    ) -> None:
        """`written` is the profile as the user wrote it: errors name its positions, not those after merging."""
        self.errors: list[FieldError] = []
        self.warnings: list[FieldError] = []
        self._profile = profile
        self._sets = plugin_sets(profile.plugins)
        self._written = plugin_sets(written.plugins)
        self._path = path / "plugins"
        self._catalogue = catalogue
        self._facts: dict[str, PluginFacts] = {}

    def run(self) -> ExpandedProfile:
        """The expanded profile; only valid if there are no errors."""
        # 1. Look up every plugin that is named.
        for point, plugin_set in self._sets.items():
            for plugin in plugin_set.enabled:
                self._look_up(plugin.name, point)
        # 2. Assemble each extension point.
        points = {point: self._point(point) for point in EXTENSION_POINTS}
        # 3. Check the profile as a whole.
        self._check_counts(points)
        weights = {point: self._weights(point) for point in SCORE_POINTS}
        used = self.used()
        return ExpandedProfile(
            scheduler_name=self._profile.scheduler_name or "",
            percentage_of_nodes_to_score=self._profile.percentage_of_nodes_to_score,
            points={
                point: tuple(EnabledPlugin(name, weights.get(point, {}).get(name, 0)) for name in plugins)
                for point, plugins in points.items()
            },
            args={c.name: c.args for c in self._profile.plugin_config if c.name in used and c.args is not None},
        )

    def used(self) -> set[str]:
        """The plugins that are built: all that are enabled somewhere, even if no point remains for them."""
        named = {plugin.name for plugin_set in self._sets.values() for plugin in plugin_set.enabled}
        return named & self._facts.keys()

    # --- plugins --------------------------------------------------------------------------------

    def _look_up(self, name: str, point: str) -> None:
        if name in self._facts:
            return
        facts = self._catalogue.lookup(name)
        if facts is not None:
            self._facts[name] = facts
            return
        if name in self._catalogue.failures:
            self._error(point, name, self._catalogue.failures[name], "")
        else:
            hint = unknown_plugin_hint(name, self._catalogue)
            self._error(point, name, f'there is no plugin "{name}"', hint)

    def _point(self, point: str) -> list[str]:
        own = [plugin.name for plugin in self._sets[point].enabled if self._fits(plugin, point)]
        self._check_twice(own, point)
        own = list(dict.fromkeys(own))
        disabled = {plugin.name for plugin in self._sets[point].disabled}
        if "*" in disabled:
            return own
        multi = [
            plugin.name
            for plugin in self._sets["multiPoint"].enabled
            if self._is_on(plugin.name, point) and plugin.name not in disabled
        ]
        overridden = [name for name in own if name in multi]
        rest = [name for name in multi if name not in own]
        self._check_twice(rest, point, "multiPoint")
        rest = list(dict.fromkeys(rest))
        return overridden + rest + [name for name in own if name not in overridden]

    def _is_on(self, name: str, point: str) -> bool:
        return name in self._facts and point in self._facts[name].points

    def _fits(self, plugin: Plugin, point: str) -> bool:
        if plugin.name not in self._facts:
            return False
        if self._is_on(plugin.name, point):
            return True
        points = ", ".join(p for p in EXTENSION_POINTS if self._is_on(plugin.name, p)) or "no extension point"
        if point in self._facts[plugin.name].former_points:
            message = f'the plugin "{plugin.name}" is no longer a {point} plugin; this entry does nothing'
            self.warnings.append(self._at(point, plugin.name, message, f"it is on {points}"))
            return False
        message = f'the plugin "{plugin.name}" is not a {point} plugin'
        self._error(point, plugin.name, message, f"it is on {points}")
        return False

    def _check_twice(self, names: list[str], point: str, where: str = "") -> None:
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                message = f'the plugin "{name}" is enabled twice for {point}'
                error = self._at(where or point, name, message, "remove one of the two")
                if not any(known.path == error.path for known in self.errors):
                    self.errors.append(error)

    # --- the profile as a whole -----------------------------------------------------------------

    def _check_counts(self, points: dict[str, list[str]]) -> None:
        name = self._profile.scheduler_name or ""
        sorts = len(points["queueSort"])
        if sorts != 1 and self._is_whole("queueSort"):
            found = ", ".join(points["queueSort"]) or "none"
            message = f'the profile "{name}" needs exactly one queue sort plugin; it has {found}'
            self.errors.append(FieldError(self._path / "queueSort", message, "PrioritySort is the default"))
        if not points["bind"] and self._is_whole("bind"):
            message = f'the profile "{name}" needs at least one bind plugin'
            self.errors.append(FieldError(self._path / "bind", message, "DefaultBinder is the default"))
        if len(points["placementGenerate"]) > 1:
            message = f'the profile "{name}" can have one placementGenerate plugin only'
            self.errors.append(FieldError(self._path / "placementGenerate", message))

    def _is_whole(self, point: str) -> bool:
        """Whether all plugins at this point are known; otherwise counting them is meaningless."""
        named = (*self._sets[point].enabled, *self._sets["multiPoint"].enabled)
        return all(plugin.name in self._facts for plugin in named)

    def _weights(self, point: str) -> dict[str, int]:
        """Weight by plugin; the point's own list takes precedence over `multiPoint`, and 0 means 1."""
        weights: dict[str, int] = {}
        total = 0
        for plugin in (*self._sets[point].enabled, *self._sets["multiPoint"].enabled):
            if plugin.name in weights or not self._is_on(plugin.name, point):
                continue
            weights[plugin.name] = weight = plugin.weight or 1
            # As in Go, int64 wraps around: a negative weight followed by another one is an overflow.
            if weight * MAX_SCORE > _wrapped(2**63 - 1 - total):
                message = "the weights are negative or so large that the total score could overflow"
                self.errors.append(FieldError(self._path / point, message))
                break
            total = _wrapped(total + weight * MAX_SCORE)
        return weights

    # --- errors ---------------------------------------------------------------------------------

    def _error(self, point: str, name: str, message: str, hint: str) -> None:
        self.errors.append(self._at(point, name, message, hint))

    def _at(self, point: str, name: str, message: str, hint: str) -> FieldError:
        """An error at the position of the plugin in the file; at the extension point for a default plugin."""
        written: PluginSet = self._written[point]
        places = [i for i, plugin in enumerate(written.enabled) if plugin.name == name]
        path = self._path / point
        return FieldError(path / "enabled" / places[-1] if places else path, message, hint)


def unknown_plugin_hint(name: str, catalogue: CachedCatalogue) -> str:
    """A suggestion for an unknown plugin name."""
    if name == "Extender":
        return "an extender is not a plugin: it is configured under the top-level extenders, beside profiles"
    if name == "*":
        return '"*" is possible under disabled only'
    if not name:
        return "give the plugin a name"
    return did_you_mean(name, catalogue.names(), count=3)


def _wrapped(value: int) -> int:
    return (value + 2**63) % _INT64 - 2**63
