"""The search for what would help: the smallest changes with which the scheduler's own filters accept the pod.

For every node (or a few of each kind) the remedies of its obstacles are combined, the cheapest combinations first;
each is tried on the changed cluster, and only what the filters accept then is suggested. The same is done for a
new node like one of those there are.
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bayplan.explain.changes import changed_pod, created, deleted, patched
from bayplan.explain.deletions import deleting, fewest_on
from bayplan.explain.explanation import SuggestedChange, Suggestion
from bayplan.explain.new_nodes import new_node_drafts
from bayplan.explain.obstacle_remedies import RemedyFinder
from bayplan.explain.owners import changed_template
from bayplan.explain.remedy import NotPossibleError, Remedy
from bayplan.explain.sites import ObstructedNode, obstructed_nodes
from bayplan.explain.what_if_scheduler import ObjectChange, WhatIfScheduler
from bayplan.model import KubeObject, Node, Pod

if TYPE_CHECKING:
    from bayplan.explain.assessment import Assessment

#: How many suggestions are made, unless another number is asked for.
N_SUGGESTIONS: Final = 8
#: How many combinations are tried in all, and at one node.
MAX_TRIALS: Final = 400
MAX_PER_NODE: Final = 12
#: How many drafts that did not help are tried with more.
MAX_SECOND: Final = 8
#: How many remedies may be needed before the pod is let into the queue.
MAX_OPENING: Final = 3
#: What each further remedy of a combination costs besides its own price: one change is easier than two.
COMBINED: Final = 5.0


class Draft(NamedTuple):
    """Remedies that may help together, at one node."""

    remedies: tuple[Remedy, ...]
    #: The node to be edited; None if no node is.
    node: Node | None
    #: The node that the pod is to fit; any if it is empty.
    target: str = ""
    n_alike: int = 1
    #: A node that would be created, edited already, and pods of DaemonSets that would run there.
    new_node: dict[str, Any] | None = None
    new_pods: tuple[Pod, ...] = ()

    @property
    def cost(self) -> float:
        return sum(remedy.cost for remedy in self.remedies) + COMBINED * (len(self.remedies) - 1)

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(remedy.key for remedy in self.remedies)


class Trial(NamedTuple):
    """A draft made concrete: the changed pod, the changed objects, and the same as changes of the API."""

    pod: Pod
    changes: tuple[ObjectChange, ...]
    shown: tuple[SuggestedChange, ...]


class SuggestionSearch:
    """See the module docstring."""

    def __init__(
        self,
        scheduler: WhatIfScheduler,
        pod: Pod,
        *,
        n_wanted: int = N_SUGGESTIONS,
        owner: Mapping[str, Any] | None = None,
    ) -> None:
        """*owner*: the workload whose template *pod* was made from, if it is known."""
        self._scheduler = scheduler
        self._owner = owner
        self._pod = pod
        self._n_wanted = n_wanted
        self._manifest: dict[str, Any] = {"apiVersion": pod.API_VERSION, "kind": pod.KIND, **pod.raw}
        #: Verified drafts by the keys of their remedies.
        self._found: dict[frozenset[str], tuple[Draft, Suggestion]] = {}
        #: Drafts that did not help.
        self._failed: list[Draft] = []
        self._n_trials = 0

    def run(self) -> list[Suggestion]:
        """Verified suggestions, those that ask least first."""
        if self._n_wanted:
            self._search()
        return self._suggestions()

    def _search(self) -> None:
        for base in self._bases():
            for draft in self._drafts(base):
                if self._n_trials >= MAX_TRIALS:
                    return
                self._try(draft)
        if not self._found:
            self._second_round()

    def _second_round(self) -> None:
        """A plugin may have another reason behind the one that it gives first: remove that as well."""
        for failed in sorted(self._failed, key=lambda draft: draft.cost)[:MAX_SECOND]:
            for draft in self._extended(failed):
                self._try(draft)

    def _suggestions(self) -> list[Suggestion]:
        ranked = sorted(self._found.values(), key=lambda each: each[0].cost)
        needed: list[tuple[Draft, Suggestion]] = []
        for draft, suggestion in ranked:
            # What helps with more remedies than another one has helps no more, nor does the same change twice.
            if not any(other.keys <= draft.keys or known.changes == suggestion.changes for other, known in needed):
                needed.append((draft, suggestion))
        return [suggestion for _, suggestion in needed[: self._n_wanted]]

    def object_changes(self, suggestion: Suggestion) -> tuple[ObjectChange, ...]:
        """What a suggestion of this search changes besides the pod."""
        draft = next(draft for draft, found in self._found.values() if found is suggestion)
        trial = self._trial(draft)
        return trial.changes if trial is not None else ()

    # --- drafts -------------------------------------------------------------------------------------------

    def _bases(self) -> Iterator[tuple[Remedy, ...]]:
        """Remedies without which no node is even looked at: none, or those of PreEnqueue and of PreFilter."""
        for opened in self._opened(()):
            trial = self._trial(Draft(opened, None))
            if trial is None:
                continue
            assessment = self._scheduler.assess(trial.pod)
            if assessment.pre_filter.is_success:
                yield opened
                continue
            finder = RemedyFinder(self._scheduler, trial.pod)
            for remedy in sorted(finder.before_filter(assessment.pre_filter), key=lambda each: each.cost):
                yield (*opened, remedy)

    def _opened(self, remedies: tuple[Remedy, ...]) -> Iterator[tuple[Remedy, ...]]:
        """*remedies*, with all that is needed besides to let the pod into the queue."""
        trial = self._trial(Draft(remedies, None))
        if trial is None:
            return
        gate = self._scheduler.profile(trial.pod).plugins.pre_enqueue(trial.pod)
        if gate is None:
            yield remedies
            return
        for remedy in RemedyFinder(self._scheduler, trial.pod).before_queue(gate[0]):
            if len(remedies) < MAX_OPENING:
                yield from self._opened((*remedies, remedy))

    def _drafts(self, base: tuple[Remedy, ...]) -> Iterator[Draft]:
        trial = self._trial(Draft(base, None))
        if trial is None:
            return
        with self._scheduler.changed(trial.changes):
            assessment = self._scheduler.assess(trial.pod)
            drafts = list(self._drafts_after(base, trial.pod, assessment))
        yield from sorted(drafts, key=lambda draft: draft.cost)

    def _drafts_after(self, base: tuple[Remedy, ...], pod: Pod, assessment: Assessment) -> Iterator[Draft]:
        if not assessment.pre_filter.is_success:
            return
        if base:
            yield Draft(base, None)
        finder = RemedyFinder(self._scheduler, pod)
        obstacles = assessment.obstacles()
        for obstructed in obstructed_nodes(self._scheduler, pod, assessment, obstacles):
            yield from self._at_node(base, pod, finder, obstructed)
        for remedy, manifest, pods in new_node_drafts(self._scheduler, pod, finder):
            name = manifest["metadata"]["name"]
            yield Draft((*base, remedy), None, name, new_node=manifest, new_pods=pods)

    def _at_node(
        self, base: tuple[Remedy, ...], pod: Pod, finder: RemedyFinder, obstructed: ObstructedNode
    ) -> Iterator[Draft]:
        site, obstacles, n_alike = obstructed
        options = [list(finder.at_node(obstacle, site)) for obstacle in obstacles]
        for chosen in _cheapest(options):
            yield Draft(_combined((*base, *chosen), pod), site.node, site.node.name, n_alike)
        # The obstacles that pods on the node cause can be removed with them.
        lasting = [each for each, obstacle in zip(options, obstacles, strict=True) if not obstacle.is_resolvable]
        if len(lasting) == len(options):
            return
        for chosen in _cheapest(lasting):
            draft = Draft(_combined((*base, *chosen), pod), site.node, site.node.name)
            if victims := self._victims(draft):
                yield draft._replace(remedies=_combined((*draft.remedies, deleting(victims, pod)), pod))

    def _extended(self, draft: Draft) -> list[Draft]:
        """*draft* with remedies for what is still in the way at its node."""
        trial = self._trial(draft)
        if trial is None or draft.node is None:
            return []
        with self._scheduler.changed(trial.changes):
            assessment = self._scheduler.assess(trial.pod)
            if not assessment.pre_filter.is_success:
                return []
            finder = RemedyFinder(self._scheduler, trial.pod)
            left = obstructed_nodes(self._scheduler, trial.pod, assessment, assessment.obstacles())
            here = [each for each in left if each.site.node.name == draft.target]
            options = [[*finder.at_node(obstacle, each.site)] for each in here for obstacle in each.obstacles]
        found = [
            draft._replace(remedies=_combined((*draft.remedies, *more), self._pod)) for more in _cheapest(options)
        ]
        return [each for each in found if each.keys != draft.keys]

    def _victims(self, draft: Draft) -> tuple[Pod, ...]:
        trial = self._trial(draft)
        if trial is None:
            return ()
        self._n_trials += 1
        with self._scheduler.changed(trial.changes):
            return fewest_on(self._scheduler, trial.pod, draft.target)

    # --- trials -------------------------------------------------------------------------------------------

    def _try(self, draft: Draft) -> None:
        if not draft.remedies or any(keys <= draft.keys for keys in self._found):
            known = self._found.get(draft.keys)
            if known is None or known[0].cost <= draft.cost:
                return
        trial = self._trial(draft)
        if trial is None:
            return
        self._n_trials += 1
        with self._scheduler.changed(trial.changes):
            feasible = self._scheduler.feasible_nodes(trial.pod)
        if feasible and (not draft.target or draft.target in feasible):
            self._found[draft.keys] = draft, _suggestion(draft, trial, feasible)
        else:
            self._failed.append(draft)

    def _trial(self, draft: Draft) -> Trial | None:
        """None if an edit is not possible."""
        manifest = copy.deepcopy(self._manifest)
        node = None if draft.node is None else copy.deepcopy(_mapping(draft.node))
        try:
            for remedy in draft.remedies:
                if remedy.edit_pod is not None:
                    remedy.edit_pod(manifest)
                if remedy.edit_node is not None and node is not None:
                    remedy.edit_node(node)
        except NotPossibleError:
            return None
        pod = self._pod if manifest == self._manifest else Pod.from_dict(_as_new(manifest))
        changes: list[ObjectChange] = []
        shown: list[SuggestedChange] = []
        if pod is not self._pod:
            shown.append(self._shown_pod_change(draft, manifest))
        if draft.node is not None and node is not None and node != _mapping(draft.node):
            changes.append(ObjectChange(draft.node, Node.from_dict(node)))
            shown.append(patched(_mapping(draft.node), node))
        if draft.new_node is not None:
            changes += [ObjectChange(None, each) for each in (Node.from_dict(draft.new_node), *draft.new_pods)]
            shown.append(created(draft.new_node))
        for remedy in draft.remedies:
            changes += [ObjectChange(each, None) for each in remedy.deletes]
            shown += [deleted(_mapping(each)) for each in remedy.deletes]
            for old, new in remedy.replaces:
                changes.append(ObjectChange(old, new))
                shown.append(created(new.raw) if old is None else patched(_mapping(old), new.raw))
        return Trial(pod, tuple(changes), tuple(shown))

    def _shown_pod_change(self, draft: Draft, manifest: dict[str, Any]) -> SuggestedChange:
        """The change of the pod's template where there is one: the pod itself is made anew from it."""
        if self._owner is not None:
            edits = [remedy.edit_pod for remedy in draft.remedies if remedy.edit_pod is not None]
            if (change := changed_template(self._owner, edits)) is not None:
                return change
        return changed_pod(self._manifest, manifest)


def _suggestion(draft: Draft, trial: Trial, feasible: Sequence[str]) -> Suggestion:
    summary = " and ".join(remedy.summary for remedy in draft.remedies)
    edits_node = any(remedy.edit_node is not None for remedy in draft.remedies)
    notes = dict.fromkeys(note for remedy in draft.remedies for note in remedy.notes)
    owner = trial.pod.controller
    if owner is not None and any(
        change.object.kind == "Pod" and change.verb != "delete" for change in trial.shown
    ):
        notes[f"the pod belongs to the {owner.kind} {owner.name}, whose template has to change too"] = None
    return Suggestion(
        summary=summary,
        node=draft.target or feasible[0],
        verified=True,
        changes=trial.shown,
        asks=tuple(dict.fromkeys(remedy.asks for remedy in draft.remedies)),
        n_feasible=len(feasible),
        n_alternatives=draft.n_alike - 1 if edits_node else 0,
        notes=tuple(notes),
    )


def _cheapest(options: Sequence[Sequence[Remedy]]) -> Iterable[tuple[Remedy, ...]]:
    """The cheapest combinations of one remedy for each obstacle; none if an obstacle has no remedy."""
    if not all(options):
        return ()
    few = [sorted(each, key=lambda remedy: remedy.cost)[:6] for each in options]
    return heapq.nsmallest(MAX_PER_NODE, product(*few), key=_price)


def _price(chosen: Iterable[Remedy]) -> float:
    return sum({remedy.key: remedy.cost for remedy in chosen}.values())


def _combined(chosen: Iterable[Remedy], pod: Pod) -> tuple[Remedy, ...]:
    """One remedy may remove two obstacles, and two may want the same pod to be deleted."""
    distinct = {remedy.key: remedy for remedy in chosen}.values()
    doomed = {each.key: each for remedy in distinct for each in remedy.deletes}
    if sum(bool(remedy.deletes) for remedy in distinct) < 2:
        return tuple(distinct)
    return (*(remedy for remedy in distinct if not remedy.deletes), deleting(list(doomed.values()), pod))


def _mapping(value: KubeObject) -> dict[str, Any]:
    return {"apiVersion": value.API_VERSION, "kind": value.KIND, **value.raw}


def _as_new(manifest: dict[str, Any]) -> dict[str, Any]:
    """The pod as it would be tried, without what an earlier attempt wrote to its status."""
    kept = {
        key: value
        for key, value in (manifest.get("status") or {}).items()
        if key in ("resourceClaimStatuses", "extendedResourceClaimStatus")
    }
    return {**manifest, "status": kept}
