"""What somebody may see of an answer who may not read everything.

Of other namespaces' pods only numbers are left, as in kube-scheduler's own messages; of nodes, their names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

import msgspec

from bayplan.explain.explanation import (
    Explanation,
    PendingGroup,
    PendingReport,
    PreemptedReport,
    PreemptionAnswer,
    Suggestion,
)

NOTE: Final = "details about pods of other namespaces are left out"
NODES_NOTE: Final = "suggestions that show nodes are left out: you may not list nodes"


class Hidden(NamedTuple):
    """What the reader may not see."""

    namespaces: Collection[str] = ()
    #: The objects of nodes; their names are in kube-scheduler's messages, too.
    nodes: bool = False


def suggestions_in(answer: Explanation | PendingReport) -> tuple[Suggestion, ...]:
    if isinstance(answer, Explanation):
        return answer.suggestions
    return tuple(group.suggestion for group in answer.groups if group.suggestion is not None)


def namespaces_in(answer: Explanation | PendingReport) -> set[str]:
    """The namespaces of the objects that the answer names, besides the pod's own."""
    return set(_namespaces(answer)) - {""}


def _namespaces(answer: Explanation | PendingReport) -> Iterator[str]:
    yield from (change.object.namespace for each in suggestions_in(answer) for change in each.changes)
    if isinstance(answer, PendingReport):
        yield from (pod.namespace for group in answer.groups for pod in group.pods)
        return
    if answer.preemption is not None:
        yield from (victim.namespace for victim in answer.preemption.victims)
    if answer.preempted is not None:
        yield from (each.namespace for each in answer.preempted.by)


def redacted(explanation: Explanation, hidden: Hidden) -> Explanation:
    """The answer without what is *hidden*."""
    if not any(hidden):
        return explanation
    preemption, preempted = explanation.preemption, explanation.preempted
    return msgspec.structs.replace(
        explanation,
        preemption=None if preemption is None else _without_victims(preemption, hidden.namespaces),
        preempted=None if preempted is None else _without_preemptors(preempted, hidden.namespaces),
        suggestions=tuple(each for each in explanation.suggestions if not _shows(each, hidden)),
        notes=(*explanation.notes, *_notes(suggestions_in(explanation), hidden)),
    )


def redacted_report(report: PendingReport, hidden: Hidden) -> PendingReport:
    if not any(hidden):
        return report
    groups = tuple(_redacted_group(group, hidden) for group in report.groups)
    notes = (*report.notes, *_notes(suggestions_in(report), hidden))
    return msgspec.structs.replace(report, groups=groups, notes=notes)


def _redacted_group(group: PendingGroup, hidden: Hidden) -> PendingGroup:
    if group.suggestion is None or not _shows(group.suggestion, hidden):
        return group
    n_pods = len(group.pods)
    summary = f"{n_pods} pod{'s' if n_pods != 1 else ''}: what would help concerns objects that you may not read"
    return msgspec.structs.replace(group, summary=summary, suggestion=None)


def _notes(suggestions: Collection[Suggestion], hidden: Hidden) -> Iterator[str]:
    if hidden.namespaces:
        yield NOTE
    if any(_shows(each, Hidden(nodes=hidden.nodes)) for each in suggestions):
        yield NODES_NOTE


def _without_victims(preemption: PreemptionAnswer, hidden: Collection[str]) -> PreemptionAnswer:
    victims = tuple(each for each in preemption.victims if each.namespace not in hidden)
    return msgspec.structs.replace(preemption, victims=victims)


def _without_preemptors(preempted: PreemptedReport, hidden: Collection[str]) -> PreemptedReport:
    visible = tuple(each for each in preempted.by if each.namespace not in hidden)
    if len(visible) == len(preempted.by):
        return preempted
    summary = f"preempted on {preempted.node} for a pod of higher priority"
    return msgspec.structs.replace(preempted, by=visible, summary=summary)


def _shows(suggestion: Suggestion, hidden: Hidden) -> bool:
    objects = [change.object for change in suggestion.changes]
    return any(each.namespace in hidden.namespaces or (hidden.nodes and each.kind == "Node") for each in objects)
