"""Migrates three removed scoring plugins to scoring strategies of NodeResourcesFit."""

from __future__ import annotations

from typing import Any

from bayplan.config.migrate.drafts import DraftList, DraftMap, new_map
from bayplan.config.problems import Mark

FIT = "NodeResourcesFit"
#: Old plugin → the scoringStrategy type of NodeResourcesFit that does the same.
STRATEGIES = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}


def find_config(profile: DraftMap, plugin: str) -> tuple[int, DraftMap] | None:
    """The pluginConfig entry of a plugin, with its position."""
    for i, config in profile.list("pluginConfig").maps():
        if config.text("name") == plugin:
            return i, config
    return None


def args_of(profile: DraftMap, plugin: str, mark: Mark) -> tuple[int, DraftMap]:
    """The arguments of a plugin, created if missing, with the position of their pluginConfig entry."""
    found = find_config(profile, plugin)
    if found is None:
        configs = profile.list("pluginConfig")
        configs.append(new_map(mark, name=plugin))
        found = len(configs) - 1, configs[-1]
    return found[0], found[1].map("args")


def take_args(profile: DraftMap, plugin: str) -> DraftMap:
    """Remove and return the arguments of a plugin."""
    found = find_config(profile, plugin)
    if found is None:
        return DraftMap(profile.mark)
    del profile.list("pluginConfig")[found[0]]
    return found[1].map("args")


def set_strategy(profile: DraftMap, plugin: str, old_args: DraftMap, mark: Mark) -> int:
    """Give NodeResourcesFit the strategy of an old plugin; returns the position of its pluginConfig entry."""
    position, args = args_of(profile, FIT, mark)
    strategy: dict[str, Any] = new_map(mark, type=STRATEGIES[plugin])
    resources = old_args.get("resources")
    if isinstance(resources, DraftList):
        strategy["resources"] = resources
    if plugin == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = new_map(mark, shape=old_args.get("shape", DraftList(mark)))
    args["scoringStrategy"] = strategy
    return position
