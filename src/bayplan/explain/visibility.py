"""What somebody may see of an answer who may not read the pods of every namespace.

Of other namespaces' pods only numbers are left, as in kube-scheduler's own messages.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from bayplan.explain.explanation import Explanation, PreemptionAnswer, Suggestion


def namespaces_in(explanation: Explanation) -> set[str]:
    """The namespaces of the pods that the answer is about, besides the pod's own."""
    found = {change.object.namespace for each in explanation.suggestions for change in each.changes}
    if explanation.preemption is not None:
        found |= {victim.namespace for victim in explanation.preemption.victims}
    return found - {"", explanation.pod.namespace}


def redacted(explanation: Explanation, hidden: Collection[str]) -> Explanation:
    """The answer without details of pods in the namespaces *hidden*."""
    if not hidden:
        return explanation
    preemption = explanation.preemption
    return msgspec.structs.replace(
        explanation,
        preemption=None if preemption is None else _without_victims(preemption, hidden),
        suggestions=tuple(each for each in explanation.suggestions if not _concerns(each, hidden)),
        notes=(*explanation.notes, "details about pods of other namespaces are left out"),
    )


def _without_victims(preemption: PreemptionAnswer, hidden: Collection[str]) -> PreemptionAnswer:
    victims = tuple(each for each in preemption.victims if each.namespace not in hidden)
    return msgspec.structs.replace(preemption, victims=victims)


def _concerns(suggestion: Suggestion, hidden: Collection[str]) -> bool:
    return any(change.object.namespace in hidden for change in suggestion.changes)
