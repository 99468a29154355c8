"""Migrates the Policy object of older schedulers to a profile.

A Policy says exactly which predicates and priorities run. So the profile starts with no default plugin
and enables, point by point, the plugins that do their work; what was never a predicate or a priority stays on.
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.config.api_object import API_VERSION
from bayplan.config.decode import Decoder
from bayplan.config.field_path import ROOT, Path
from bayplan.config.migrate.drafts import DraftMap, new_map, to_draft, to_tree
from bayplan.config.migrate.node_labels import Labels
from bayplan.config.migrate.notes import Migration, Note
from bayplan.config.migrate.policy_extenders import migrate_extenders
from bayplan.config.migrate.policy_tables import (
    ALWAYS_ON,
    CLOUD_VOLUME_PREDICATES,
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    FILTER_POINTS,
    MANDATORY_PREDICATES,
    PREDICATES,
    PRIORITIES,
    REMOVED_PRIORITIES,
    RESOURCE_PRIORITIES,
    SPREADING_PRIORITIES,
    WITHOUT_PRE_SCORE,
)
from bayplan.config.migrate.policy_types import Policy, PredicatePolicy, PriorityArgument, PriorityPolicy
from bayplan.config.migrate.scoring import FIT, args_of, set_strategy
from bayplan.config.problems import FieldError, Mark, did_you_mean
from bayplan.config.tree import Mapping, locate
from bayplan.config.types import KIND

_PROFILE = ROOT / "profiles" / 0
_PLUGINS = _PROFILE / "plugins"


def migrate_policy(root: Mapping) -> Migration:
    """Migrate a Policy to v1."""
    return _PolicyMigration(root).run()


class _PolicyMigration:
    def __init__(self, root: Mapping) -> None:
        self._root = root
        self._notes: list[Note] = []
        self._errors: list[FieldError] = []
        self._labels = Labels()
        self._strategy = ""
        #: Plugin → weight (0 where it only filters).
        self._filters: set[str] = set()
        self._scores: dict[str, int] = {}
        self._profile = new_map(root.mark, schedulerName="default-scheduler", plugins=None)

    def run(self) -> Migration:
        policy = self._decode()
        self._note(ROOT, "kube-scheduler no longer reads Policy; this profile does the same with plugins", ROOT)
        # 1. Predicates and priorities become sets of plugins.
        if policy.predicates is None:
            self._filters.update(plugin for name in DEFAULT_PREDICATES for plugin in PREDICATES[name])
        for i, predicate in enumerate(policy.predicates or ()):
            self._predicate(predicate, ROOT / "predicates" / i)
        self._filters.update(plugin for name in MANDATORY_PREDICATES for plugin in PREDICATES[name])
        self._priorities(policy)
        # 2. The sets become a profile.
        self._profile["plugins"] = self._plugins()
        self._plugin_args(policy)
        if policy.always_check_all_predicates:
            message = "alwaysCheckAllPredicates has no equivalent: the first plugin that rejects a node decides"
            self._note(_PLUGINS, message, ROOT / "alwaysCheckAllPredicates")
        # 3. Extenders and the top level.
        draft = new_map(self._root.mark, apiVersion=API_VERSION, kind=KIND)
        profiles = draft.list("profiles")
        profiles.append(self._profile)
        if (extenders := self._root.get("extenders")) is not None:
            draft["extenders"] = migrate_extenders(to_draft(extenders), self._notes)
            draft.key_marks["extenders"] = locate(self._root, ROOT / "extenders")
        tree = to_tree(draft, self._root.mark)
        assert isinstance(tree, Mapping)  # noqa: S101 - a DraftMap becomes a Mapping
        return Migration(tree, self._notes, self._errors)

    def _decode(self) -> Policy:
        decoder = Decoder(Policy)
        policy: Policy = decoder.decode_object(self._root, Policy, ROOT, skip=frozenset({"apiVersion", "kind"}))
        for error in decoder.errors:
            hint = error.hint
            if error.message == "unknown field":
                hint += f"; the kind Policy has no such field, {KIND} may have it"
            self._errors.append(error._replace(hint=hint, mark=locate(self._root, error.path)))
        return policy

    # --- predicates -----------------------------------------------------------------------------

    def _predicate(self, predicate: PredicatePolicy, path: Path) -> None:
        argument = predicate.argument
        if argument is not None and argument.labels_presence is not None:
            presence = argument.labels_presence
            self._labels.require(list(presence.labels), present=presence.presence)
            self._filters.add("NodeAffinity")
            message = f"the predicate {predicate.name} became affinity that is added to every pod"
            self._note(_PROFILE / "pluginConfig", message, path)
        elif argument is not None and argument.service_affinity is not None:
            message = f"the predicate {predicate.name} (ServiceAffinity) has no equivalent; use pod affinity"
            self._note(_PLUGINS / "filter", message, path)
        elif predicate.name in PREDICATES:
            self._filters.update(PREDICATES[predicate.name])
            if predicate.name in CLOUD_VOLUME_PREDICATES:
                message = f"{predicate.name} was removed; NodeVolumeLimits counts the volumes of all CSI drivers"
                self._note(_PLUGINS / "filter", message, path)
        else:
            self._error(path / "name", f'there is no predicate "{predicate.name}"', predicate.name, PREDICATES)

    # --- priorities -----------------------------------------------------------------------------

    def _priorities(self, policy: Policy) -> None:
        if policy.priorities is None:
            for name, weight in DEFAULT_PRIORITIES.items():
                self._priority(PriorityPolicy(name=name, weight=weight), ROOT)
            self._note(_PLUGINS / "score", f"NodePreferAvoidPodsPriority {_REMOVED_AVOID}", ROOT)
        names = {priority.name for priority in policy.priorities or ()}
        for i, priority in enumerate(policy.priorities or ()):
            path = ROOT / "priorities" / i
            if priority.weight <= 0:
                message = f"a priority needs a weight greater than 0, not {priority.weight}"
                self._errors.append(FieldError(path / "weight", message, mark=self._mark(path)))
            self._priority(priority, path)
        if names & {"EvenPodsSpreadPriority"} and not names & set(SPREADING_PRIORITIES):
            i, args = args_of(self._profile, "PodTopologySpread", self._root.mark)
            args["defaultingType"] = "List"
            message = "without SelectorSpreadPriority only pods with constraints of their own are spread"
            self._note(_PROFILE / "pluginConfig" / i / "args", message, ROOT / "priorities")

    def _priority(self, priority: PriorityPolicy, path: Path) -> None:
        name = priority.name
        if priority.argument is not None and self._custom_priority(priority, priority.argument, path):
            return
        if name in REMOVED_PRIORITIES:
            self._note(_PLUGINS / "score", f"the priority {name} {REMOVED_PRIORITIES[name]}", path)
        elif name in RESOURCE_PRIORITIES:
            self._resource_strategy(RESOURCE_PRIORITIES[name], DraftMap(self._mark(path)), priority, path)
        elif name in PRIORITIES:
            self._score(PRIORITIES[name], priority.weight)
            if name in SPREADING_PRIORITIES:
                message = f"{name} was removed; PodTopologySpread with its default constraints replaces it"
                self._note(_PLUGINS / "score", message, path)
        else:
            self._error(path / "name", f'there is no priority "{name}"', name, PRIORITIES)

    def _custom_priority(self, priority: PriorityPolicy, argument: PriorityArgument, path: Path) -> bool:
        """Priorities with an argument that defines them; their names are chosen by the user."""
        if argument.label_preference is not None:
            preference = argument.label_preference
            self._labels.prefer([preference.label], present=preference.presence)
            self._score("NodeAffinity", priority.weight)
            message = f"the priority {priority.name} became affinity that is added to every pod as a preference"
            self._note(_PROFILE / "pluginConfig", message, path)
            return True
        if argument.service_anti_affinity is not None:
            message = f"the priority {priority.name} (ServiceAntiAffinity) has no equivalent; use spreading"
            self._note(_PLUGINS / "score", message, path)
            return True
        ratio = argument.requested_to_capacity_ratio_arguments
        if ratio is None:
            return False
        written = to_draft(self._root)["priorities"][path[1]]["argument"]["requestedToCapacityRatioArguments"]
        self._resource_strategy("RequestedToCapacityRatio", written, priority, path)
        return True

    def _resource_strategy(self, plugin: str, args: DraftMap, priority: PriorityPolicy, path: Path) -> None:
        if self._strategy:
            message = f"{priority.name} has no equivalent beside {self._strategy}: {FIT} scores in one way only"
            self._note(_PLUGINS / "score", message, path)
            return
        self._strategy = priority.name
        self._score(FIT, priority.weight)
        i = set_strategy(self._profile, plugin, args, self._mark(path))
        where = _PROFILE / "pluginConfig" / i / "args" / "scoringStrategy"
        self._note(where, f"{priority.name} became this scoringStrategy of {FIT}", path)

    def _score(self, plugin: str, weight: int) -> None:
        self._scores[plugin] = max(weight, self._scores.get(plugin, 0))

    # --- the profile ----------------------------------------------------------------------------

    def _plugins(self) -> DraftMap:
        mark = self._root.mark
        plugins = new_map(mark)
        multi_point = plugins.map("multiPoint")
        multi_point.list("enabled").extend(dict(plugin) for plugin in ALWAYS_ON)
        multi_point.list("disabled").append({"name": "*"})
        message = "a Policy had no default plugins; these were never predicates or priorities, or are newer"
        self._notes.append(Note(_PLUGINS / "multiPoint", message, mark))
        for plugin, points in FILTER_POINTS.items():
            if plugin in self._filters:
                for point in points:
                    plugins.map(point).list("enabled").append({"name": plugin})
        for plugin, weight in self._scores.items():
            if plugin not in WITHOUT_PRE_SCORE:
                plugins.map("preScore").list("enabled").append({"name": plugin})
            plugins.map("score").list("enabled").append({"name": plugin, "weight": weight})
        return plugins

    def _plugin_args(self, policy: Policy) -> None:
        if self._labels.required or self._labels.preferred:
            self._labels.add_to(self._profile, self._root.mark)
        weight = policy.hard_pod_affinity_symmetric_weight
        if weight:
            where = ROOT / "hardPodAffinitySymmetricWeight"
            i, args = args_of(self._profile, "InterPodAffinity", self._mark(where))
            args["hardPodAffinityWeight"] = weight
            message = "hardPodAffinitySymmetricWeight is an argument of InterPodAffinity now"
            self._note(_PROFILE / "pluginConfig" / i / "args", message, where)

    # --- notes ----------------------------------------------------------------------------------

    def _mark(self, path: Path) -> Mark:
        return locate(self._root, path)

    def _note(self, path: Path, message: str, cause: Path) -> None:
        self._notes.append(Note(path, message, self._mark(cause)))

    def _error(self, path: Path, message: str, name: str, known: Iterable[str]) -> None:
        self._errors.append(FieldError(path, message, did_you_mean(name, known, count=3), mark=self._mark(path)))


_REMOVED_AVOID = REMOVED_PRIORITIES["NodePreferAvoidPodsPriority"]
