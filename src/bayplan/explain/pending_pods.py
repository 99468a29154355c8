"""Everything that waits in a cluster, grouped by what would help most.

Changes that help many pods come first: more nodes of a kind that is there, an uncordoned node, a larger quota.
What they would place is found by placing the pods one after another on the changed cluster. Pods that no such
change helps are grouped by their kind, each group with the best suggestion for one of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bayplan.cache.cache import on_node
from bayplan.explain.changes import created
from bayplan.explain.explainer import outcome_by_condition
from bayplan.explain.explanation import (
    PendingGroup,
    PendingReport,
    PodReference,
    SuggestedChange,
    Suggestion,
)
from bayplan.explain.new_nodes import ModelNode, model_nodes
from bayplan.explain.remedy import CAPACITY, NODE, OTHERS
from bayplan.explain.suggestion_search import SuggestionSearch
from bayplan.explain.what_if_scheduler import ObjectChange, WhatIfScheduler
from bayplan.model import Pod

if TYPE_CHECKING:
    from bayplan.explain.explanation import AnswerSource

#: How many nodes of a kind are added at most.
MAX_NEW_NODES: Final = 20
#: How many changes that help several pods are looked for, one after another.
MAX_ROUNDS: Final = 6
#: How many kinds of pods are searched for suggestions.
MAX_CLASSES: Final = 40


class SharedHelp(NamedTuple):
    """A change, and the pods that it places."""

    summary: str
    placed: tuple[Pod, ...]
    changes: tuple[ObjectChange, ...]
    suggestion: Suggestion
    #: How many objects change: fewer is better where the same pods are placed.
    cost: float


class PendingPods:
    """Groups the waiting pods of one cluster."""

    def __init__(self, scheduler: WhatIfScheduler, source: AnswerSource) -> None:
        self._scheduler = scheduler
        self._source = source

    def report(self, namespace: str | None = None) -> PendingReport:
        """Everything that waits; in one *namespace*, if one is given."""
        waiting = sorted(
            (
                pod
                for pod in self._scheduler.core.pods.values()
                if not pod.node_name and not pod.is_terminal and not pod.is_terminating
                and pod.spec.scheduler_name in self._scheduler.profiles
                and namespace in (None, pod.namespace)
            ),
            key=lambda pod: (-pod.priority, pod.metadata.creation_timestamp or "", pod.key),
        )  # fmt: skip
        if self._source.lacks_nodes:
            groups = list(_by_condition(waiting))
            return PendingReport(source=self._source, n_pending=len(waiting), groups=tuple(groups))
        with ExitStack() as stack:
            groups = list(self._groups(waiting, stack))
        return PendingReport(source=self._source, n_pending=len(waiting), groups=tuple(groups))

    def _groups(self, waiting: Sequence[Pod], stack: ExitStack) -> Iterator[PendingGroup]:
        gated = [pod for pod in waiting if self._gate(pod)]
        for message, pods in _grouped(gated, self._gate).items():
            yield PendingGroup(summary=f"{_pods(len(pods))} not tried yet: {message}", pods=_references(pods))
        placed, remaining = self._place([pod for pod in waiting if not self._gate(pod)], stack)
        if placed:
            summary = f"{_pods(len(placed))} can be placed now: the scheduler has not tried again yet"
            yield PendingGroup(summary=summary, pods=_references(placed), n_placed=len(placed))
        for _ in range(MAX_ROUNDS):
            best = self._best_help(remaining)
            if best is None:
                break
            yield PendingGroup(
                summary=f"{_pods(len(best.placed))}: {best.summary}",
                pods=_references(best.placed),
                n_placed=len(best.placed),
                suggestion=best.suggestion,
            )
            stack.enter_context(self._scheduler.changed(best.changes))
            self._place(best.placed, stack)
            helped = {pod.uid for pod in best.placed}
            remaining = [pod for pod in remaining if pod.uid not in helped]
        for pods in _grouped(remaining, _class_of).values():
            yield self._lonely_group(pods)

    def _gate(self, pod: Pod) -> str:
        found = self._scheduler.profile(pod).plugins.pre_enqueue(pod)
        return found[1].message if found is not None else ""

    def _lonely_group(self, pods: Sequence[Pod]) -> PendingGroup:
        message = self._scheduler.decide(pods[0]).message
        suggestions = SuggestionSearch(self._scheduler, pods[0], n_wanted=1).run()
        what = suggestions[0].summary if suggestions else "no change was found that would help"
        each = " each" if len(pods) > 1 and suggestions and "pod" in suggestions[0].asks else ""
        return PendingGroup(
            summary=f"{_pods(len(pods))}{each}: {what}",
            pods=_references(pods),
            n_placed=1 if suggestions else 0,
            message=message,
            suggestion=suggestions[0] if suggestions else None,
        )

    # --- what helps several pods --------------------------------------------------------------------------

    def _best_help(self, pods: Sequence[Pod]) -> SharedHelp | None:
        """The change that places most, if it places more than one pod."""
        found = [*self._more_nodes(pods), *self._shared_suggestions(pods)]
        best = max(found, key=lambda each: (len(each.placed) / each.cost, len(each.placed)), default=None)
        return best if best is not None and len(best.placed) > 1 else None

    def _more_nodes(self, pods: Sequence[Pod]) -> Iterator[SharedHelp]:
        for model in model_nodes(self._scheduler):
            with ExitStack() as stack:
                placed: list[Pod] = []
                changes: list[ObjectChange] = []
                manifests: list[dict[str, Any]] = []
                left = list(pods)
                while left and len(manifests) < MAX_NEW_NODES:
                    added = model.once_more(len(manifests) + 1)
                    stack.enter_context(self._scheduler.changed(added.changes))
                    more, left = self._place(left, stack)
                    if not more:
                        break
                    placed += more
                    changes += added.changes
                    manifests.append(added.manifest)
            if placed:
                yield _new_nodes(model, placed, changes, manifests, len(pods))

    def _shared_suggestions(self, pods: Sequence[Pod]) -> Iterator[SharedHelp]:
        """Changes of nodes and of others that some kind of pod needs, and that help more than one pod."""
        seen: set[str] = set()
        for alike in list(_grouped(pods, _class_of).values())[:MAX_CLASSES]:
            search = SuggestionSearch(self._scheduler, alike[0])
            for suggestion in search.run():
                if not set(suggestion.asks) <= {NODE, OTHERS} or suggestion.summary in seen:
                    continue
                seen.add(suggestion.summary)
                changes = search.object_changes(suggestion)
                with ExitStack() as stack:
                    stack.enter_context(self._scheduler.changed(changes))
                    placed, _ = self._place(pods, stack)
                if len(placed) > 1:
                    yield SharedHelp(
                        suggestion.summary, tuple(placed), changes, suggestion, 1.0 + 3.0 * _n_deleted(suggestion)
                    )

    def _place(self, pods: Sequence[Pod], stack: ExitStack) -> tuple[list[Pod], list[Pod]]:
        """Place *pods* one after another, until *stack* is closed: those that were placed, and the others."""
        placed: list[Pod] = []
        others: list[Pod] = []
        full: set[Hashable] = set()
        for pod in pods:
            alike = _class_of(pod)
            node_name = ""
            if alike not in full and self._scheduler.feasible_nodes(pod):
                node_name = self._scheduler.decide(pod).node_name
            if node_name:
                stack.enter_context(self._scheduler.changed([ObjectChange(pod, on_node(pod, node_name))]))
                placed.append(pod)
            else:
                full.add(alike)
                others.append(pod)
        return placed, others


def _by_condition(waiting: Sequence[Pod]) -> Iterator[PendingGroup]:
    """By what their scheduler says, where the nodes could not be read."""
    by_message = _grouped(waiting, lambda pod: outcome_by_condition(pod).message)
    for message, pods in by_message.items():
        summary = f"{_pods(len(pods))}: nodes could not be read, so only what the scheduler says can be shown"
        yield PendingGroup(summary=summary, pods=_references(pods), message=message)


def _new_nodes(
    model: ModelNode,
    placed: Sequence[Pod],
    changes: Sequence[ObjectChange],
    manifests: Sequence[dict[str, Any]],
    n_pods: int,
) -> SharedHelp:
    nodes = f"{len(manifests)} more node{'s' if len(manifests) > 1 else ''} like {model.node.name}"
    rest = f" (of {n_pods} that wait)" if len(placed) < n_pods else ""
    made: tuple[SuggestedChange, ...] = tuple(created(manifest) for manifest in manifests)
    suggestion = Suggestion(
        summary=f"add {nodes}",
        node=manifests[0]["metadata"]["name"],
        verified=True,
        changes=made,
        asks=(CAPACITY,),
    )
    verb = "would place them all" if not rest else f"would place {len(placed)}"
    return SharedHelp(f"{nodes} {verb}{rest}", tuple(placed), tuple(changes), suggestion, 2.0 * len(manifests))


def _n_deleted(suggestion: Suggestion) -> int:
    return sum(change.verb == "delete" for change in suggestion.changes)


def _class_of(pod: Pod) -> Hashable:
    return pod.equivalence_key or pod.uid


def _grouped(pods: Sequence[Pod], key: Any) -> dict[Any, list[Pod]]:
    groups: dict[Any, list[Pod]] = {}
    for pod in pods:
        groups.setdefault(key(pod), []).append(pod)
    return groups


def _references(pods: Sequence[Pod]) -> tuple[PodReference, ...]:
    return tuple(PodReference(namespace=pod.namespace, name=pod.name, uid=pod.uid) for pod in pods)


def _pods(count: int) -> str:
    return f"{count} pod{'s' if count != 1 else ''}"
