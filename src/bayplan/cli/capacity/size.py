"""`bayplan size`: how many more nodes workloads need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayplan.cli.capacity.capacity_text import size_lines
from bayplan.cli.capacity.workload_files import pool_label_option, read_workloads, workload_option
from bayplan.cli.cluster_options import ClusterQuestion, cluster_options, print_answer
from bayplan.cli.inputs import read_text

if TYPE_CHECKING:
    from bayplan.explain.capacity.sizing import NodePool
    from bayplan.explain.cluster_objects import ClusterObjects


@click.command(name="size")
@workload_option
@click.option(
    "--pool",
    "wanted",
    multiple=True,
    metavar="NAME|FILE",
    help="A pool of the cluster, or a file with a Node as new ones would be. Repeatable; by default every pool.",
)
@click.option("-n", "--namespace", default="", metavar="NAME", help="The namespace of the workloads.")
@pool_label_option
@cluster_options
def command(
    files: tuple[str, ...], wanted: tuple[str, ...], namespace: str, pool_label: str, **given: Any
) -> None:
    """Tell how many more nodes workloads need.

    For each pool alone: pods are placed as the scheduler would, and whenever one does not fit, the pool gets one
    more node, with the DaemonSet pods that its nodes run. The cluster is that of the kubeconfig, or a --snapshot;
    nothing is written to it.
    """
    from bayplan.explain.capacity.sizing import size_pools
    from bayplan.explain.object_files import ObjectFileError

    question = ClusterQuestion.of(given)
    try:
        manifests = read_workloads(files)
        explainer, objects = question.explainer(namespace)
        pools = _pools(objects, wanted, pool_label)
        where = namespace or question.namespace()
        report = size_pools(explainer.scheduler, objects, manifests, where, pools)
    except ObjectFileError as error:
        raise click.ClickException(str(error)) from error
    print_answer(report, question, size_lines(report, question.form()))


def _pools(objects: ClusterObjects, wanted: tuple[str, ...], label: str) -> list[NodePool]:
    from bayplan.explain.capacity.node_pools import pools_of
    from bayplan.explain.capacity.sizing import NodePool
    from bayplan.explain.object_files import read_snapshot

    known = {name: nodes[0] for name, nodes in pools_of(objects.nodes.values(), label).items()}
    found = []
    for name in wanted or known:
        if name in known:
            found.append(NodePool(name, known[name]))
        elif Path(name).is_file():
            nodes = read_snapshot({name: read_text(name)}).nodes
            found += [NodePool(each.name, each) for each in nodes.values()]
        else:
            raise click.ClickException(
                f"no pool and no file {name!r}; the pools are {', '.join(known) or 'none: there are no nodes'}"
            )
    return found
