"""`bayplan pending`: everything that waits in a cluster, grouped by what would help most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bayplan.cli.cluster_options import (
    ClusterQuestion,
    RunningScheduler,
    cluster_options,
    print_answer,
    server_options,
)
from bayplan.cli.explanation_text import pending_lines

if TYPE_CHECKING:
    from bayplan.explain.explanation import PendingReport


@click.command(name="pending")
@click.option("-n", "--namespace", default=None, metavar="NAME", help="Only the pods of this namespace.")
@server_options
@cluster_options
def command(namespace: str | None, **given: Any) -> None:
    """Show what waits to be scheduled, grouped by what would help.

    The cluster is that of the kubeconfig, whoever schedules it, or a --snapshot; nothing is written to it. With
    --server, a running Bayplan answers.
    """
    server, question = RunningScheduler.of(given), ClusterQuestion.of(given)
    report = _ask(question, server, namespace) if server.server else _read(question, namespace)
    print_answer(report, question, pending_lines(report, question.form()))


def _read(question: ClusterQuestion, namespace: str | None) -> PendingReport:
    from bayplan.explain.pending_pods import PendingPods

    explainer, objects = question.explainer(namespace or "")
    return PendingPods(explainer.scheduler, objects.source()).report(namespace)


def _ask(question: ClusterQuestion, server: RunningScheduler, namespace: str | None) -> PendingReport:
    from bayplan.explain.explanation import PendingReport

    return question.ask(server, "/explain/pending", {"namespace": namespace or ""}, PendingReport)
