"""The report: Markdown and plots of all phases that were kept."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml

from bench.e2e import aims, judge, plots, workload
from bench.e2e.aims import Aim
from bench.e2e.groups import Groups, Key, grouped, measured
from bench.e2e.plan import Contestant, Mode
from bench.e2e.record import Phase
from bench.e2e.statistics import Figure, Spread, ratio, spread

KUBE, BAYPLAN = Contestant.KUBE, Contestant.BAYPLAN
#: Requests a pod that differ by more than this are pointed at.
_SAME_REQUESTS = 0.1
_OPEN = "to be looked into"

#: Heading, figure, digits.
_FIGURES: tuple[tuple[str, Figure, int], ...] = (
    ("pods/s", aims.speed, 0),
    ("… until all events are written", lambda phase: phase.pods_per_second_with_events, 0),
    ("scheduler CPU ms/pod", aims.scheduler_cpu, 2),
    ("… with start", lambda phase: phase.whole_ms, 2),
    ("API server ms/pod", lambda phase: phase.api_server_ms, 2),
    ("etcd ms/pod", lambda phase: phase.etcd_ms, 2),
    ("requests/pod", lambda phase: phase.requests_per_pod, 2),
    ("nodes used", lambda phase: sum(phase.pods_per_node.values()), 0),
    ("most pods on a node", lambda phase: max(phase.pods_per_node, default=0), 0),
    ("peak MB", aims.memory, 0),
    ("first bind s", aims.first_bind, 2),
    ("event backlog s", lambda phase: phase.backlog, 1),
    ("p50 ms", lambda phase: phase.p50_ms, 1),
    ("p99 ms", aims.p99, 1),
)


def write(phases: Sequence[Phase], into: Path) -> Path:
    """Write `e2e.md` and its plots; what stands in the way of an aim is read from `notes.yaml` beside them."""
    into.mkdir(parents=True, exist_ok=True)
    groups = grouped(phases)
    path = into / "e2e.md"
    pictures = plots.write(groups, into)
    path.write_text(text(phases, groups, _notes(into / "notes.yaml"), pictures))
    return path


def text(phases: Sequence[Phase], groups: Groups, notes: Mapping[str, str], pictures: Sequence[str]) -> str:
    """The report as Markdown."""
    parts = [
        "# Bayplan beside kube-scheduler, end to end",
        "[How it is measured, and how to read it](../../docs/guides/benchmark.md). Made by `make bench-e2e`; "
        "figures are medians, with the lowest and the highest in brackets.",
        _machine(phases),
        "\n".join(f"![{name}]({name})" for name in pictures),
        *_failures(phases),
        "## What it is to show",
        *_aims(groups, notes),
        "## Ratios",
        _ratios(groups),
        "## Figures",
        *(_figures(key, groups[key]) for key in measured(groups)),
        "## Fairness",
        _fairness(groups),
        "## Choices",
        *_choices(groups),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


# --- parts ------------------------------------------------------------------------------------------------


def _machine(phases: Sequence[Phase]) -> str:
    days = sorted({phase.at[:10] for phase in phases if phase.at})
    return "\n".join(
        [
            f"- {os.cpu_count()} cores ({platform.machine()}), shared by API server, etcd, scheduler and driver",
            f"- kube-scheduler, kube-apiserver {_kubernetes_version()}",
            f"- Bayplan, {_build(phases)}; Python {platform.python_version()}",
            f"- {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else "") if days else "",
        ]
    )


def _build(phases: Sequence[Phase]) -> str:
    builds = sorted({"compiled" if phase.compiled else "interpreted" for phase in phases if not phase.failure})
    return " and ".join(builds)


def _kubernetes_version() -> str:
    from tests.e2e.binaries import KUBERNETES_VERSION

    return KUBERNETES_VERSION


def _failures(phases: Sequence[Phase]) -> list[str]:
    failed = [phase for phase in phases if phase.failure]
    if not failed:
        return []
    lines = [f"- {phase.failure.splitlines()[0]}" for phase in failed]
    return ["## Failures", "These phases do not count.", "\n".join(lines)]


def _aims(groups: Groups, notes: Mapping[str, str]) -> list[str]:
    pairs, others = aims.of_workloads(groups), aims.others(groups)
    rows = [(cpu.workload, *_cells(cpu), *_cells(faster)) for cpu, faster in pairs]
    headings = (f"{aims.N_NODES:,} nodes", "scheduler CPU per pod", "found", "", "pods/s", "found", "")
    missed = [aim for aim in (*(aim for pair in pairs for aim in pair), *others) if aim.reached is False]
    return [
        "Bayplan ÷ kube-scheduler, medians of the pairs.",
        _table(headings, rows),
        _table(("", "wanted", "found", ""), [(f"{aim.workload}: {aim.what}", *_cells(aim)) for aim in others]),
        *(["### What stands in the way", "\n".join(_missed(aim, notes) for aim in missed)] if missed else []),
    ]


def _cells(aim: Aim) -> tuple[str, str, str]:
    said = {True: "reached", False: "**not reached**", None: "not measured"}[aim.reached]
    return aim.wanted, aim.found or "–", said


def _missed(aim: Aim, notes: Mapping[str, str]) -> str:
    """With the note on this very aim, or on its workload."""
    name = f"{aim.workload}: {aim.what}"
    return (
        f"- **{name}** ({aim.found}, wanted {aim.wanted}): {notes.get(name) or notes.get(aim.workload) or _OPEN}"
    )


def _ratios(groups: Groups) -> str:
    """Bayplan ÷ kube-scheduler, median of the pairs."""
    rows = []
    for key in measured(groups):
        phases = groups[key]
        share = aims.null_share(phases)
        bare = aims.null_share(phases, Contestant.NULL)
        rows.append(
            (
                *_named(key),
                _shown(ratio(phases, aims.speed), 2),
                _shown(ratio(phases, aims.scheduler_cpu), 2),
                _shown(ratio(phases, lambda phase: phase.whole_ms), 2),
                _shown(ratio(phases, aims.memory), 2),
                f"{share:.0%} / {bare:.0%}" if share is not None and bare is not None else "",
            )
        )
    headings = ("workload", "mode", "nodes", "pods/s", "scheduler CPU/pod", "… with start", "peak memory")
    return _table((*headings, "of the null ceiling, with / without events"), rows)


def _figures(key: Key, phases: Sequence[Phase]) -> str:
    whos = [who for who in Contestant if any(phase.step.scheduler is who for phase in phases)]
    shown = [each for each in _FIGURES if any(each[1](phase) for phase in phases)]
    rows = [
        (heading, *(_shown(spread(phases, who, figure), digits) for who in whos))
        for heading, figure, digits in shown
    ]
    name, mode, nodes = _named(key)
    n_pods = phases[0].n_pods
    return f"### {name}, {mode}, {nodes} nodes, {n_pods:,} pods\n\n" + _table(("", *whos), rows)


def _fairness(groups: Groups) -> str:
    rows = []
    for key in measured(groups):
        phases = groups[key]
        kube, ours = (_of(phases, who) for who in (KUBE, BAYPLAN))
        if not kube or not ours:
            continue
        rows.append(
            (*_named(key), _requests(kube), _requests(ours), _events(kube), _events(ours), _remark(kube, ours))
        )
    headings = (
        "requests/pod, kube-scheduler",
        "requests/pod, Bayplan",
        "events, kube-scheduler",
        "events, Bayplan",
    )
    return _table(("workload", "mode", "nodes", *headings, "remark"), rows)


def _requests(phases: Sequence[Phase]) -> str:
    """By kind, over all phases."""
    n_pods = sum(phase.n_pods for phase in phases)
    kinds = sorted({kind for phase in phases for kind in phase.requests})
    each = {kind: sum(phase.requests.get(kind, 0) for phase in phases) / n_pods for kind in kinds}
    return ", ".join(f"{kind} {count:.2f}" for kind, count in each.items())


def _events(phases: Sequence[Phase]) -> str:
    reasons = sorted({reason for phase in phases for reason in phase.events})
    told = ", ".join(f"{reason} {sum(phase.events.get(reason, 0) for phase in phases):,}" for reason in reasons)
    dropped = sum(phase.dropped_events for phase in phases)
    return told + (f", {dropped:,} dropped" if dropped else "")


def _remark(kube: Sequence[Phase], ours: Sequence[Phase]) -> str:
    remarks = []
    kube_requests, our_requests = (sum(p.requests_per_pod for p in each) / len(each) for each in (kube, ours))
    if abs(our_requests / kube_requests - 1) > _SAME_REQUESTS:
        remarks.append(f"requests differ: {our_requests / kube_requests:.2f}")
    for who, phases in (("kube-scheduler", kube), ("Bayplan", ours)):
        refused = sorted({f"{who}: {what}" for phase in phases for what in phase.refused})
        remarks += refused
    return "; ".join(remarks) or "same"


def _choices(groups: Groups) -> list[str]:
    rows = []
    for key, phases in sorted(groups.items()):
        kube, ours = (_of(phases, who) for who in (KUBE, BAYPLAN))
        if key[1] is not Mode.DECISIONS or not kube or not ours:
            continue
        placements = (kube[0].placements, ours[0].placements)
        verdicts = [judge.judge(workload.load(key[0]), key[2], each) for each in placements]
        equal = judge.equal_share(*placements)
        others = "; ".join(verdict.first_other for verdict in verdicts if verdict.first_other)
        rows.append(
            (key[0], f"{key[2]:,}", *(f"{verdict.share:.1%}" for verdict in verdicts), f"{equal:.1%}", others)
        )
    if not rows:
        return ["Not compared in this run."]
    return [
        "One thread, all nodes scored: the share of pods that went to a node with the highest score there was, "
        "given where the pods before had gone. Of nodes with equal scores kube-scheduler takes the one that is on "
        "top of its heap, and Bayplan any, so the same node is a matter of luck.",
        _table(("workload", "nodes", "kube-scheduler", "Bayplan", "the same node", "first other choice"), rows),
    ]


# --- small things -----------------------------------------------------------------------------------------


def _named(key: Key) -> tuple[str, str, str]:
    return key[0], str(key[1]), f"{key[2]:,}"


def _of(phases: Sequence[Phase], who: Contestant) -> list[Phase]:
    return [phase for phase in phases if phase.step.scheduler is who]


def _shown(found: Spread | None, digits: int) -> str:
    if found is None:
        return ""
    if found.n == 1:
        return f"{found.median:,.{digits}f}"
    return f"{found.median:,.{digits}f} [{found.low:,.{digits}f}–{found.high:,.{digits}f}]"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _notes(path: Path) -> dict[str, str]:
    return dict(yaml.safe_load(path.read_text()) or {}) if path.exists() else {}
