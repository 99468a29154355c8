"""Migrates the plugins of a beta profile: replaces removed plugins."""

from __future__ import annotations

from bayplan.config.api_object import API_VERSION, GROUP
from bayplan.config.field_path import Path
from bayplan.config.migrate.drafts import DraftList, DraftMap
from bayplan.config.migrate.node_labels import Labels
from bayplan.config.migrate.notes import Note
from bayplan.config.migrate.scoring import FIT, STRATEGIES, args_of, find_config, set_strategy, take_args
from bayplan.config.problems import Mark
from bayplan.config.tree import Scalar, plain

#: Removed plugin → its replacement.
SUCCESSORS = {
    **dict.fromkeys(STRATEGIES, FIT),
    **dict.fromkeys(("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"), "NodeVolumeLimits"),
    "SelectorSpread": "PodTopologySpread",
    "NodeLabel": "NodeAffinity",
}
#: Removed plugin without a replacement → what to use instead.
REMOVED = {
    "NodePreferAvoidPods": "taint the nodes with the effect PreferNoSchedule",
    "ServiceAffinity": "give the pods affinity to each other, or topologySpreadConstraints",
}
_POINTS = ("preFilter", "filter", "preScore", "score", "reserve", "preBind", "multiPoint")


class ProfileMigration:
    """Migrates one profile in place."""

    def __init__(self, profile: DraftMap, path: Path, notes: list[Note]) -> None:
        self._profile = profile
        self._path = path
        self._notes = notes
        self._strategy = ""
        #: Notes about arguments, as (plugin, steps below its args, message, mark): positions are known at the end.
        self._args_notes: list[tuple[str, tuple[str, ...], str, Mark]] = []

    def run(self) -> None:
        plugins = self._profile.get("plugins")
        if isinstance(plugins, DraftMap):
            for point in _POINTS:
                if isinstance(plugins.get(point), DraftMap):
                    self._enabled(plugins[point], point)
                    self._disabled(plugins[point], point)
        self._leftover_args()
        self._args_versions()
        self._spreading_args()
        for plugin, steps, message, mark in self._args_notes:
            if found := find_config(self._profile, plugin):
                path = Path((*self._path, "pluginConfig", found[0], "args", *steps))
                self._notes.append(Note(path, message, mark))
        if not self._profile.get("pluginConfig", True):
            del self._profile["pluginConfig"]

    # --- enabled --------------------------------------------------------------------------------

    def _enabled(self, plugin_set: DraftMap, point: str) -> None:
        if not isinstance(plugin_set.get("enabled"), DraftList):
            return
        entries: DraftList = plugin_set["enabled"]
        old = list(entries)
        entries.clear()
        for entry in old:
            name = entry.text("name") if isinstance(entry, DraftMap) else ""
            where = self._path / "plugins" / point / "enabled"
            if name in REMOVED:
                self._note(
                    where, f"the plugin {name} was removed and has no equivalent; {REMOVED[name]}", entry.mark
                )
                take_args(self._profile, name)
            elif name in SUCCESSORS:
                self._replace(entry, name, point, entries, where)
            else:
                entries.append(entry)
        if not entries and old:
            del plugin_set["enabled"]

    def _replace(self, entry: DraftMap, name: str, point: str, entries: DraftList, where: Path) -> None:
        successor = SUCCESSORS[name]
        if name in STRATEGIES and not self._take_strategy(entry, name, point):
            return
        if name == "NodeLabel":
            self._take_labels(entry.mark)
        if any(isinstance(other, DraftMap) and other.text("name") == successor for other in entries):
            self._note(where, f"{name} was removed; {successor}, which is enabled here, replaces it", entry.mark)
            return
        entry["name"] = Scalar(successor, entry.mark_of("name"))
        entries.append(entry)
        self._note(where / (len(entries) - 1), f"{name} was removed; {successor} replaces it", entry.mark)

    def _take_strategy(self, entry: DraftMap, name: str, point: str) -> bool:
        if self._strategy not in ("", name):
            where = self._path / "plugins" / point / "enabled"
            message = f"{name} has no equivalent beside {self._strategy}: {FIT} scores in one way only"
            self._note(where, message, entry.mark)
            take_args(self._profile, name)
            return False
        if not self._strategy:
            self._strategy = name
            set_strategy(self._profile, name, take_args(self._profile, name), entry.mark)
            message = f"{name} became this scoringStrategy of {FIT}"
            self._args_notes.append((FIT, ("scoringStrategy",), message, entry.mark))
        return True

    def _take_labels(self, mark: Mark) -> None:
        old = take_args(self._profile, "NodeLabel")
        if not old:
            return
        labels = Labels()
        labels.require(_strings(old, "presentLabels"), present=True)
        labels.require(_strings(old, "absentLabels"), present=False)
        labels.prefer(_strings(old, "presentLabelsPreference"), present=True)
        labels.prefer(_strings(old, "absentLabelsPreference"), present=False)
        labels.add_to(self._profile, mark)
        message = "the labels of NodeLabel became this affinity, which is added to every pod of the profile"
        self._args_notes.append(("NodeAffinity", ("addedAffinity",), message, mark))

    # --- disabled -------------------------------------------------------------------------------

    def _disabled(self, plugin_set: DraftMap, point: str) -> None:
        if not isinstance(plugin_set.get("disabled"), DraftList):
            return
        entries: DraftList = plugin_set["disabled"]
        old = list(entries)
        entries.clear()
        for entry in old:
            name = entry.text("name") if isinstance(entry, DraftMap) else ""
            if name in SUCCESSORS or name in REMOVED:
                self._drop_disabled(entry, name, point, entries)
            else:
                entries.append(entry)
        if not entries and old:
            del plugin_set["disabled"]

    def _drop_disabled(self, entry: DraftMap, name: str, point: str, entries: DraftList) -> None:
        where = self._path / "plugins" / point / "disabled"
        if name == "SelectorSpread":
            self._disable_spreading(entry.mark)
        elif name == "NodeResourcesLeastAllocated" and not self._strategy and point == "score":
            # It was the default resource scoring, which is now part of NodeResourcesFit.
            entry["name"] = Scalar(FIT, entry.mark_of("name"))
            entries.append(entry)
            message = f"{name} was removed; {FIT} scores like it by default, so that is disabled here"
            self._note(where / (len(entries) - 1), message, entry.mark)
        else:
            self._note(where, f"the plugin {name} was removed, so there is nothing to disable", entry.mark)

    def _disable_spreading(self, mark: Mark) -> None:
        _, args = args_of(self._profile, "PodTopologySpread", mark)
        if not args:
            args["defaultingType"] = "List"
        message = "SelectorSpread was removed; without default constraints pods without constraints are not spread"
        self._args_notes.append(("PodTopologySpread", (), message, mark))

    # --- arguments ------------------------------------------------------------------------------

    def _leftover_args(self) -> None:
        """Arguments of removed plugins that were not enabled by name."""
        for name in (*SUCCESSORS, *REMOVED):
            found = find_config(self._profile, name)
            if found is None:
                continue
            mark = found[1].mark
            args = take_args(self._profile, name)
            if name == "NodeResourcesLeastAllocated" and not self._strategy:
                set_strategy(self._profile, name, args, mark)
                message = f"the arguments of {name} became this scoringStrategy of {FIT}"
                self._args_notes.append((FIT, ("scoringStrategy",), message, mark))
            else:
                message = f"the arguments of {name}, which was removed and was not enabled here, are dropped"
                self._note(self._path / "pluginConfig", message, mark)

    def _args_versions(self) -> None:
        for _, config in self._profile.list("pluginConfig").maps():
            args = config.get("args")
            if isinstance(args, DraftMap) and args.text("apiVersion").startswith(f"{GROUP}/v1beta"):
                args["apiVersion"] = Scalar(API_VERSION, args.mark_of("apiVersion"))

    def _spreading_args(self) -> None:
        found = find_config(self._profile, "PodTopologySpread")
        args = found[1].get("args") if found else None
        if isinstance(args, DraftMap) and args.get("defaultConstraints") and not args.text("defaultingType"):
            args["defaultingType"] = "List"
            message = "defaultConstraints need defaultingType List now"
            self._args_notes.append(("PodTopologySpread", ("defaultingType",), message, args.mark))

    def _note(self, path: Path, message: str, mark: Mark) -> None:
        self._notes.append(Note(path, message, mark))


def _strings(draft: DraftMap, key: str) -> list[str]:
    value = draft.get(key)
    items = value if isinstance(value, DraftList) else []
    return [str(plain(item)) if isinstance(item, Scalar) else str(item) for item in items]
