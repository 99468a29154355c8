"""`bayplan pending`: everything that waits in a cluster, grouped by what would help most."""

from __future__ import annotations

from typing import Any

import click

from bayplan.cli.cluster_options import ClusterQuestion, cluster_options, print_answer
from bayplan.cli.explanation_text import pending_lines


@click.command(name="pending")
@click.option("-n", "--namespace", default=None, metavar="NAME", help="Only the pods of this namespace.")
@cluster_options
def command(namespace: str | None, **given: Any) -> None:
    """Show what waits to be scheduled, grouped by what would help.

    The cluster is that of the kubeconfig, whoever schedules it, or a --snapshot; nothing is written to it.
    """
    from bayplan.explain.pending_pods import PendingPods

    question = ClusterQuestion.of(given)
    explainer, objects = question.explainer(namespace or "")
    report = PendingPods(explainer.scheduler, objects.source()).report(namespace)
    print_answer(report, question, pending_lines(report, question.form()))
