"""`bayplan capacity`: how many more of a pod fit, and what runs out first."""

from __future__ import annotations

from typing import Any

import click

from bayplan.cli.capacity.capacity_text import capacity_lines
from bayplan.cli.capacity.workload_files import pool_label_option, read_workloads, workload_option
from bayplan.cli.cluster_options import ClusterQuestion, cluster_options, print_answer


@click.command(name="capacity")
@workload_option
@click.option("-n", "--namespace", default="", metavar="NAME", help="The namespace of the pod.")
@click.option(
    "--limit", default=10_000, show_default=True, type=click.IntRange(1), metavar="N", help="Count no further."
)
@pool_label_option
@cluster_options
def command(files: tuple[str, ...], namespace: str, limit: int, pool_label: str, **given: Any) -> None:
    """Count how many more of a pod fit, and what runs out first.

    Of a workload with replicas, one pod is taken. Pods are placed one after another as the scheduler would place
    them, until one does not fit; no pod is evicted for them. The cluster is that of the kubeconfig, or a
    --snapshot; nothing is written to it.
    """
    from bayplan.explain.capacity.capacity_counting import count_capacity
    from bayplan.explain.object_files import ObjectFileError

    question = ClusterQuestion.of(given)
    try:
        manifests = read_workloads(files)
        explainer, objects = question.explainer(namespace)
        where = namespace or question.namespace()
        report = count_capacity(explainer.scheduler, objects, manifests, where, limit=limit, pool_label=pool_label)
    except ObjectFileError as error:
        raise click.ClickException(str(error)) from error
    print_answer(report, question, capacity_lines(report, question.form()))
