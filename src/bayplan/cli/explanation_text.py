"""The text of an explanation: for people, as wide as their terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from bayplan.cli.tables import plain_lines

if TYPE_CHECKING:
    from bayplan.explain.explanation import (
        Explanation,
        FitReport,
        NodeDetail,
        NodeSummary,
        NotSeen,
        PastAttempt,
        PendingReport,
        Placement,
        QueueState,
        SuggestedChange,
        Suggestion,
        WorkloadAnswer,
    )

#: How many names of nodes, and of pods, are shown unless all are asked for.
N_NAMES: Final = 6


class TextForm:
    """How wide the text may be, and whether everything is to be shown."""

    def __init__(self, width: int, *, wide: bool = False) -> None:
        self.width = width
        self._wide = wide

    def wrapped(self, text: str, indent: str = "", more: str | None = None) -> list[str]:
        more = indent if more is None else more
        return textwrap.wrap(
            text, self.width, initial_indent=indent, subsequent_indent=more, break_on_hyphens=False
        ) or [""]

    def names(self, names: Sequence[str], *, word: str = "") -> str:
        if self._wide or len(names) <= N_NAMES:
            return ", ".join(names)
        return f"{', '.join(names[:N_NAMES])} and {len(names) - N_NAMES} more{word}"

    @property
    def is_wide(self) -> bool:
        return self._wide


def explanation_lines(explanation: Explanation, form: TextForm, *, was_searched: bool = True) -> Iterator[str]:
    """*was_searched*: whether suggestions were looked for."""
    yield from _bold(form.wrapped(explanation.outcome.summary))
    if explanation.nodes is not None:
        yield from _node_lines(explanation.nodes, form)
    if explanation.node is not None:
        yield from _detail_lines(explanation.node, form)
    if explanation.placement is not None:
        yield from _placement_lines(explanation.placement, form)
    yield from _context_lines(explanation, form)
    if explanation.queue is not None:
        yield from _queue_lines(explanation.queue, form)
    if form.is_wide and explanation.attempts:
        yield from _attempt_lines(explanation.attempts, form)
    if explanation.suggestions:
        yield from _suggestion_lines(explanation.suggestions, form)
    elif was_searched and explanation.outcome.state == "Unschedulable":
        yield ""
        yield from form.wrapped("No single change was found that would let the pod be placed.")
    yield from _source_lines(explanation, form)


def _node_lines(nodes: NodeSummary, form: TextForm) -> Iterator[str]:
    if not nodes.groups:
        return
    yield ""
    rows: list[tuple[str, str, str]] = []
    for group in nodes.groups:
        rows.append((str(group.count), group.plugin, "; ".join(group.reasons)))
        if group.nodes:
            rows.append(("", "", form.names(group.nodes)))
    if nodes.feasible:
        rows.insert(0, (str(nodes.feasible), "", f"fit: {form.names(nodes.feasible_nodes)}"))
    yield from _table(("NODES", "PLUGIN", "REASON"), rows, form, numbers=("NODES",))


def _detail_lines(node: NodeDetail, form: TextForm) -> Iterator[str]:
    yield ""
    verdict = "takes the pod" if node.feasible else "does not take the pod"
    rank = f", rank {node.rank} with {node.total} points" if node.rank is not None else ""
    yield from _bold([f"{node.name} {verdict}{rank}"])
    scores = {score.plugin: score for score in node.scores}
    rows = [
        (each.plugin, each.point, each.status, "; ".join(each.reasons))
        for each in node.verdicts
        if form.is_wide or each.status != "Skipped"
    ]
    yield from _table(("PLUGIN", "POINT", "VERDICT", "REASON"), rows, form)
    if scores:
        yield ""
        yield from _score_table(node.scores, form)


def _score_table(scores: Sequence[object], form: TextForm) -> Iterator[str]:
    headings = ("PLUGIN", "RAW", "NORMALIZED", "WEIGHT", "POINTS")
    rows = [
        (each.plugin, str(each.raw), str(each.normalized), str(each.weight), str(each.weighted))  # type: ignore[attr-defined]
        for each in scores
    ]
    yield from _table(headings, rows, form, numbers=headings[1:])


def _placement_lines(placement: Placement, form: TextForm) -> Iterator[str]:
    if placement.total is None:
        return
    yield ""
    yield from _bold([f"Why {placement.node}"])
    yield from _score_table(placement.scores, form)
    best = placement.next_best
    if best is not None:
        differences = ", ".join(f"{each.plugin} {each.difference:+d}" for each in best.differences)
        detail = f" ({differences})" if differences else ""
        yield from form.wrapped(f"Total {placement.total}; next is {best.node} with {best.total}{detail}.")
    if form.is_wide:
        rows = [(each.node, str(each.total)) for each in placement.ranking]
        yield ""
        yield from _table(("NODE", "TOTAL"), rows, form, numbers=("TOTAL",))


def _context_lines(explanation: Explanation, form: TextForm) -> Iterator[str]:
    lines: list[str] = []
    preemption = explanation.preemption
    if preemption is not None:
        lines.append(f"Preemption: {preemption.summary}")
        if preemption.victims:
            victims = [f"{each.namespace}/{each.name} (priority {each.priority})" for each in preemption.victims]
            lines.append(f"  {form.names(victims)}")
    if explanation.preempted is not None:
        lines.append(f"Preempted: {explanation.preempted.summary}")
    if explanation.gang is not None:
        lines.append(f"PodGroup {explanation.gang.name}: {explanation.gang.summary}")
    lines += [f"ElasticQuota {each.name}: {each.summary}" for each in explanation.quotas]
    lines += [f"Claim {each.claim}: {each.summary}" for each in explanation.volumes]
    lines += [f"ResourceClaim {each.claim}: {each.summary}" for each in explanation.devices]
    lines += [f"Extender {each.extender}, {each.verb}: {each.summary}" for each in explanation.extenders]
    if lines:
        yield ""
    for line in lines:
        indent = "  " if line.startswith("  ") else ""
        yield from form.wrapped(line.strip(), indent, indent + "  ")


def _queue_lines(queue: QueueState, form: TextForm) -> Iterator[str]:
    facts = []
    if queue.queue:
        facts.append(f"in the {queue.queue} queue")
    if queue.since:
        facts.append(f"since {queue.since}")
    if queue.attempts is not None:
        facts.append(f"{queue.attempts} attempt{'s' if queue.attempts != 1 else ''}")
    if queue.next_try:
        facts.append(f"next try at {queue.next_try}")
    if not facts and not queue.wakes:
        return
    yield ""
    if facts:
        yield from form.wrapped(f"Waits {', '.join(facts)}.")
    if queue.wakes:
        yield "Tried again when one of these happens:"
        rows = [(f"  {each.plugin}", "; ".join(each.events)) for each in queue.wakes]
        yield from plain_lines(("", ""), rows, width=form.width)


def _attempt_lines(attempts: Sequence[PastAttempt], form: TextForm) -> Iterator[str]:
    yield ""
    yield from _bold(["Attempts, the latest first"])
    for each in attempts:
        yield from form.wrapped(f"{each.at}  {each.message or each.node}", "  ", "    ")


def _suggestion_lines(suggestions: Sequence[Suggestion], form: TextForm) -> Iterator[str]:
    yield ""
    yield from _bold(["What would help (each verified with the scheduler's own filters)"])
    for number, suggestion in enumerate(suggestions, start=1):
        yield from form.wrapped(f"{suggestion.summary} → {_where(suggestion)}", f"{number:>2}. ", "    ")
        for note in suggestion.notes:
            yield from form.wrapped(f"({note})", "    ")
        if form.is_wide:
            for change in suggestion.changes:
                yield from form.wrapped(_change_text(change), "    ")


def _where(suggestion: Suggestion) -> str:
    if suggestion.n_alternatives:
        others = suggestion.n_alternatives
        return f"{suggestion.node} ({others} other node{'s are' if others > 1 else ' is'} like it)"
    if suggestion.n_feasible > 1:
        return f"{suggestion.node} and {suggestion.n_feasible - 1} more"
    return suggestion.node


def _change_text(change: SuggestedChange) -> str:
    target = change.object
    name = f"{target.namespace}/{target.name}" if target.namespace else target.name
    omitted = f" (without {', '.join(change.omitted)})" if change.omitted else ""
    return f"{change.verb} {target.kind} {name}{omitted}"


def _source_lines(explanation: Explanation, form: TextForm) -> Iterator[str]:
    lines = list(_not_seen_lines(explanation.source.not_seen, form))
    lines += [f"{note[:1].upper()}{note[1:]}." for note in explanation.notes]
    if lines:
        yield ""
    for line in lines:
        yield from form.wrapped(line, "Note: ", "  ")


def _not_seen_lines(not_seen: Sequence[NotSeen], form: TextForm) -> Iterator[str]:
    """One sentence for all kinds that the same follows from, unless everything is to be shown."""
    by_consequence: dict[str, list[NotSeen]] = {}
    for each in sorted(not_seen, key=lambda kind: kind.resource):
        by_consequence.setdefault(each.resource if form.is_wide else each.consequence, []).append(each)
    for kinds in by_consequence.values():
        names = form.names([each.resource for each in kinds])
        yield f"{names} could not be read ({kinds[0].reason}). {kinds[0].consequence}".strip()


# --- workloads and everything that waits ------------------------------------------------------------------


def fit_lines(report: FitReport, form: TextForm) -> Iterator[str]:
    for number, answer in enumerate(report.workloads):
        if number:
            yield ""
        yield from _workload_lines(answer, form)


def _workload_lines(answer: WorkloadAnswer, form: TextForm) -> Iterator[str]:
    yield from _bold(form.wrapped(answer.summary))
    if answer.nodes:
        yield ""
        rows = [(each.node, str(each.count)) for each in answer.nodes]
        yield from _table(("NODE", "PODS"), rows, form, numbers=("PODS",))
    if answer.first_failure is not None:
        yield ""
        yield from explanation_lines(answer.first_failure, form)


def pending_lines(report: PendingReport, form: TextForm) -> Iterator[str]:
    n_pods = report.n_pending
    if not n_pods:
        yield "No pod waits to be scheduled."
    else:
        yield from _bold([f"{n_pods} pod{'s wait' if n_pods != 1 else ' waits'} to be scheduled"])
    for group in report.groups:
        yield ""
        yield from _bold(form.wrapped(group.summary))
        names = [f"{pod.namespace}/{pod.name}" for pod in group.pods]
        yield from form.wrapped(form.names(names), "  ")
        if group.message:
            text = group.message if form.is_wide else group.message.partition(" preemption: ")[0].rstrip(",")
            yield from form.wrapped(text, "  ")
    for line in _not_seen_lines(report.source.not_seen, form):
        yield ""
        yield from form.wrapped(f"Note: {line}")
    for note in report.notes:
        yield ""
        yield from form.wrapped(f"Note: {note}")


# ----------------------------------------------------------------------------------------------------------


def _table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], form: TextForm, *, numbers: Sequence[str] = ()
) -> Iterator[str]:
    first, *others = plain_lines(headings, rows, numbers, width=form.width)
    yield click.style(first, dim=True)
    yield from others


def _bold(lines: Sequence[str]) -> Iterator[str]:
    return (click.style(line, bold=True) for line in lines)
