"""What somebody may see of an answer who may not read the pods of every namespace.

Of other namespaces' pods only numbers are left, as in kube-scheduler's own messages.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from bayplan.explain.explanation import Explanation, PreemptedReport, PreemptionAnswer, Suggestion


def namespaces_in(explanation: Explanation) -> set[str]:
    """The namespaces of the pods that the answer is about, besides the pod's own."""
    found = {change.object.namespace for each in explanation.suggestions for change in each.changes}
    if explanation.preemption is not None:
        found |= {victim.namespace for victim in explanation.preemption.victims}
    if explanation.preempted is not None:
        found |= {each.namespace for each in explanation.preempted.by}
    return found - {"", explanation.pod.namespace}


def redacted(explanation: Explanation, hidden: Collection[str]) -> Explanation:
    """The answer without details of pods in the namespaces *hidden*."""
    if not hidden:
        return explanation
    preemption, preempted = explanation.preemption, explanation.preempted
    return msgspec.structs.replace(
        explanation,
        preemption=None if preemption is None else _without_victims(preemption, hidden),
        preempted=None if preempted is None else _without_preemptors(preempted, hidden),
        suggestions=tuple(each for each in explanation.suggestions if not _concerns(each, hidden)),
        notes=(*explanation.notes, "details about pods of other namespaces are left out"),
    )


def _without_victims(preemption: PreemptionAnswer, hidden: Collection[str]) -> PreemptionAnswer:
    victims = tuple(each for each in preemption.victims if each.namespace not in hidden)
    return msgspec.structs.replace(preemption, victims=victims)


def _without_preemptors(preempted: PreemptedReport, hidden: Collection[str]) -> PreemptedReport:
    visible = tuple(each for each in preempted.by if each.namespace not in hidden)
    if len(visible) == len(preempted.by):
        return preempted
    summary = f"preempted on {preempted.node} for a pod of higher priority"
    return msgspec.structs.replace(preempted, by=visible, summary=summary)


def _concerns(suggestion: Suggestion, hidden: Collection[str]) -> bool:
    return any(change.object.namespace in hidden for change in suggestion.changes)
