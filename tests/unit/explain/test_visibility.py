"""Who may not read the pods of a namespace learns nothing about them."""

from __future__ import annotations

import msgspec

from bayplan.explain.explanation import (
    AnswerSource,
    ChangedObject,
    Explanation,
    PendingGroup,
    PendingReport,
    PodOutcome,
    PodReference,
    PreemptedReport,
    PreemptionAnswer,
    PreemptorPod,
    SuggestedChange,
    Suggestion,
    VictimPod,
)
from bayplan.explain.visibility import NODES_NOTE, Hidden, namespaces_in, redacted, redacted_report


def _suggestion(namespace: str, kind: str = "Pod") -> Suggestion:
    target = ChangedObject(api_version="v1", kind=kind, namespace=namespace, name=f"{namespace}-pod")
    change = SuggestedChange(verb="delete", object=target)
    return Suggestion(summary=f"delete {namespace}-pod", node="n", verified=True, changes=(change,))


ANSWER = Explanation(
    pod=PodReference(namespace="mine", name="p"),
    profile="default-scheduler",
    source=AnswerSource(kind="scheduler", description="x"),
    outcome=PodOutcome(state="Unschedulable", summary="No node takes mine/p."),
    preemption=PreemptionAnswer(
        possible=True,
        summary="2 pods would be evicted from n",
        victims=(VictimPod(namespace="secret", name="secret-pod"), VictimPod(namespace="mine", name="own")),
    ),
    suggestions=(_suggestion("secret"), _suggestion("mine")),
)


def test_a_preemptor_of_others_is_not_named() -> None:
    """Only that there was one, as kube-scheduler's message says."""
    report = PreemptedReport(
        summary="preempted on n: secret/vip (priority 9) took its place",
        node="n",
        by=(PreemptorPod(namespace="secret", name="vip", priority=9),),
    )
    answer = msgspec.structs.replace(ANSWER, preempted=report)

    assert "secret" in namespaces_in(answer)
    hidden = redacted(answer, Hidden({"secret"})).preempted
    assert hidden is not None
    assert (hidden.summary, hidden.by) == ("preempted on n for a pod of higher priority", ())


def test_the_namespaces_of_others_are_known() -> None:
    assert namespaces_in(ANSWER) == {"secret", "mine"}


def test_details_of_hidden_namespaces_are_left_out() -> None:
    """Numbers stay, as in kube-scheduler's own messages."""
    seen = redacted(ANSWER, Hidden({"secret"}))

    assert "secret-pod" not in str(seen)
    assert seen.preemption is not None
    assert seen.preemption.summary == "2 pods would be evicted from n"
    assert [each.summary for each in seen.suggestions] == ["delete mine-pod"]


def test_whoever_may_read_all_sees_all() -> None:
    assert redacted(ANSWER, Hidden()) == ANSWER


def test_who_may_not_list_nodes_sees_no_node() -> None:
    """A patch of a node shows its taints, and a new node all labels of another one."""
    answer = msgspec.structs.replace(ANSWER, suggestions=(_suggestion("", "Node"), _suggestion("mine")))

    seen = redacted(answer, Hidden(nodes=True))

    assert [each.summary for each in seen.suggestions] == ["delete mine-pod"]
    assert seen.notes == (NODES_NOTE,)


def test_a_report_does_not_name_what_is_hidden() -> None:
    """Neither in the suggestion nor in the sentence about it."""
    pods = (PodReference(namespace="mine", name="p"),)
    report = PendingReport(
        source=ANSWER.source,
        n_pending=2,
        groups=(
            PendingGroup(summary="1 pod: delete secret-pod", pods=pods, suggestion=_suggestion("secret")),
            PendingGroup(summary="1 pod: delete mine-pod", pods=pods, suggestion=_suggestion("mine")),
        ),
    )

    seen = redacted_report(report, Hidden({"secret"}))

    assert "secret-pod" not in str(seen)
    assert seen.groups[1] == report.groups[1]
    assert redacted_report(report, Hidden()) is report
