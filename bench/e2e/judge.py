"""Verifies choices: every pod is decided again, with the earlier pods where the scheduler placed them.

Any of the nodes with the highest score may be chosen, so the placements of two correct schedulers differ. Only the
score must be equal: the chosen node must have had the highest score, given the placements of the earlier pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bayplan.core import Decision
from bayplan.model import Node, Pod, decode_object
from bayplan.testing import Harness
from bench.e2e.workload import Object, Workload

#: All nodes are scored, as in the phases that are verified.
_CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 100
"""


class Verdict(NamedTuple):
    """How many choices had the highest score, and the first one that had not."""

    n_pods: int
    n_best: int
    first_other: str = ""

    @property
    def share(self) -> float:
        return self.n_best / self.n_pods


def judge(workload: Workload, n_nodes: int, placements: Sequence[str]) -> Verdict:
    """Verify *placements*, the node of each pod, in the order in which the pods were decided."""
    harness = _cluster(workload, n_nodes)
    n_best, first_other = 0, ""
    for i, node in enumerate(placements):
        pod = Pod.from_dict(with_uid(workload.make_pod(i)))
        better = better_than(harness.decide(pod), node)
        n_best += not better
        first_other = first_other or (better and f"{pod.name} on {node}: {better}")
        harness.core.cache.assume(pod, node)
    return Verdict(len(placements), n_best, first_other)


def better_than(decision: Decision, node: str) -> str:
    """Which node would have been better than *node*; empty if none."""
    if decision.scores is None:  # one feasible node, or none
        return "" if node == decision.node_name else f"only {decision.node_name or 'no node'} was feasible"
    scores, row = decision.scores, decision.scores.nodes.position(node)
    if row is None:
        return "it was not feasible"
    own, best = scores.totals[row], scores.totals.max()
    return "" if own == best else f"it scored {own}, and {decision.node_name} {best}"


def equal_share(one: Sequence[str], other: Sequence[str]) -> float:
    """How many pods are on the same node in both."""
    return sum(a == b for a, b in zip(one, other, strict=True)) / len(one)


def _cluster(workload: Workload, n_nodes: int) -> Harness:
    placed = (workload.placed_pod(i, n_nodes) for i in range(workload.n_placed(n_nodes)))
    return Harness(
        nodes=[Node.from_dict(with_uid(workload.node(i))) for i in range(n_nodes)],
        pods=[Pod.from_dict(with_uid(pod)) for pod in placed],
        objects=[decode_object(with_uid(each)) for each in workload.objects],
        configuration=_CONFIGURATION,
    )


def with_uid(each: Object) -> Object:
    """The pod as the API server would return it, with a uid."""
    return {**each, "metadata": {**each["metadata"], "uid": each["metadata"]["name"]}}
