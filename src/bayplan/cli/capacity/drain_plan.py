"""`bayplan drain-plan`: where the pods of a node would go."""

from __future__ import annotations

from typing import Any

import click

from bayplan.cli.capacity.capacity_text import drain_lines
from bayplan.cli.cluster_options import ClusterQuestion, cluster_options, print_answer


@click.command(name="drain-plan")
@click.argument("nodes", nargs=-1, required=True, metavar="NODE...")
@cluster_options
def command(nodes: tuple[str, ...], **given: Any) -> None:
    """Tell where the pods of nodes would go if these were drained.

    And which cannot go anywhere, and which PodDisruptionBudgets are in the way. The exit status is 1 if a pod
    cannot go. Every placement is a decision of the scheduler with the nodes cordoned. The cluster is that of the
    kubeconfig, or a --snapshot; nothing is written to it.
    """
    from bayplan.explain.capacity.draining import plan_drain

    question = ClusterQuestion.of(given)
    explainer, objects = question.explainer()
    if missing := [name for name in nodes if name not in objects.nodes]:
        raise click.ClickException(f"no node {', '.join(missing)}; there are {len(objects.nodes)} nodes")
    plan = plan_drain(explainer.scheduler, objects, tuple(dict.fromkeys(nodes)))
    print_answer(plan, question, drain_lines(plan, question.form()))
    if plan.stuck:
        raise SystemExit(1)
