"""`bayplan explain`: why a pod is where it is, why it waits, and what would help."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import click

from bayplan.cli.cluster_options import (
    ClusterQuestion,
    RunningScheduler,
    cluster_options,
    print_answer,
    server_options,
)
from bayplan.cli.explanation_text import explanation_lines, fit_lines
from bayplan.cli.inputs import FILE, read_text, shown

if TYPE_CHECKING:
    from bayplan.explain.cluster_objects import ClusterObjects
    from bayplan.explain.explanation import Explanation
    from bayplan.model import Pod


@click.command(name="explain")
@click.argument("pod", required=False)
@click.option("-n", "--namespace", default="", metavar="NAME", help="The namespace of the pod.")
@click.option(
    "-f",
    "--filename",
    "workloads",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Would these workloads fit? Pod, Deployment, StatefulSet, Job and so on. Repeatable.",
)
@click.option("--node", default="", metavar="NAME", help="Show every plugin's verdict and score on this node.")
@click.option(
    "--suggestions",
    default=5,
    show_default=True,
    type=click.IntRange(0, 50),
    metavar="N",
    help="How many suggestions to make at most; 0 for none.",
)
@server_options
@cluster_options
def command(pod: str | None, namespace: str, workloads: tuple[str, ...], **given: Any) -> None:
    """Explain where a pod is, or why it waits, and what would help.

    POD is a name, or namespace/name. The cluster is that of the kubeconfig, whoever schedules it, or a --snapshot;
    nothing is written to it. With --server, the answer is the last attempt of a running Bayplan, as it was. Every
    suggestion was verified with the scheduler's own filters.
    """
    node, n_suggestions = given.pop("node"), given.pop("suggestions")
    server = RunningScheduler.of(given)
    question = ClusterQuestion.of(given)
    if bool(pod) == bool(workloads):
        raise click.UsageError("name a pod, or give workloads with -f")
    if workloads and server.server:
        raise click.UsageError("-f asks the cluster; --server knows pods that were submitted")
    if workloads:
        _explain_workloads(workloads, namespace, question, n_suggestions)
        return
    name, where = _split(pod or "", namespace, question)
    if server.server:
        explanation = _ask(question, server, {"namespace": where, "name": name, "node": node}, n_suggestions)
    else:
        explainer, objects = question.explainer(where, name)
        found = _find(objects, name, where)
        if node and node not in objects.nodes:
            raise click.ClickException(f'no node "{node}"{_close(node, objects.nodes)}')
        explanation = explainer.explain(found, node=node, n_suggestions=n_suggestions)
    lines = explanation_lines(explanation, question.form(), was_searched=n_suggestions > 0)
    print_answer(explanation, question, lines)


def _ask(
    question: ClusterQuestion, server: RunningScheduler, query: dict[str, str | int], n_suggestions: int
) -> Explanation:
    from bayplan.explain.explanation import Explanation

    return question.ask(server, "/explain/pod", {**query, "suggestions": n_suggestions}, Explanation)


def _split(pod: str, namespace: str, question: ClusterQuestion) -> tuple[str, str]:
    """Name and namespace; `pod/name` is understood, as kubectl writes it."""
    pod = pod.removeprefix("pods/").removeprefix("pod/")
    first, slash, name = pod.partition("/")
    if slash and namespace and first != namespace:
        raise click.UsageError(f"{pod} is not in the namespace {namespace}; give the namespace once")
    return (name, first) if slash else (first, namespace or question.namespace())


def _find(objects: ClusterObjects, name: str, namespace: str) -> Pod:
    found = objects.pods.get(f"{namespace}/{name}")
    if found is not None:
        return found
    elsewhere = [pod.key for pod in objects.pods.values() if pod.name == name]
    hint = f"; there is {', '.join(elsewhere[:3])}" if elsewhere else _close(f"{namespace}/{name}", objects.pods)
    raise click.ClickException(f'no pod "{name}" in the namespace {namespace}{hint}')


def _close(name: str, known: Any) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _explain_workloads(
    files: tuple[str, ...], namespace: str, question: ClusterQuestion, n_suggestions: int
) -> None:
    from bayplan.explain.fitting import fit_workloads
    from bayplan.explain.object_files import ObjectFileError, read_objects

    try:
        manifests = [each for file in files for each in read_objects(read_text(file), shown(file))]
        explainer, objects = question.explainer(namespace)
        report = fit_workloads(
            explainer, objects, manifests, namespace or question.namespace(), n_suggestions=n_suggestions
        )
    except ObjectFileError as error:
        raise click.ClickException(str(error)) from error
    print_answer(report, question, fit_lines(report, question.form()))
