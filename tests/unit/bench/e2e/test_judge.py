"""Whether choices are score-equivalent."""

from __future__ import annotations

import pytest
from bench.e2e import judge
from bench.e2e.workload import Workload

from bayplan.model import Node, Pod
from bayplan.testing import Harness

#: Half a node each: the second pod is better off on the other node.
HALVES = Workload(
    name="halves",
    description="",
    pods=2,
    pod={
        "spec": {
            "containers": [
                {"name": "c", "image": "i", "resources": {"requests": {"cpu": "16", "memory": "128Gi"}}},
            ]
        }
    },
)
A, B = "node-00000", "node-00001"


@pytest.mark.parametrize(
    ("placements", "n_best"),
    [((A, B), 2), ((B, A), 2), ((A, A), 1), ((B, B), 1)],
    ids=["one each", "one each, the other way round", "both on the first", "both on the second"],
)
def test_equal_scores_are_equally_good(placements: tuple[str, str], n_best: int) -> None:
    """Which of two equal nodes is first does not matter; a node with less room than the other is no equal."""
    verdict = judge.judge(HALVES, 2, placements)

    assert (verdict.n_pods, verdict.n_best) == (2, n_best)
    assert bool(verdict.first_other) == (n_best < 2)


def test_own_choices_are_best() -> None:
    """What Bayplan decides is best in its own eyes: the state that is judged is the state that was decided in."""
    nodes = [Node.from_dict(HALVES.node(i)) for i in range(3)]
    harness = Harness(nodes=nodes, seed=7)
    pods = (Pod.from_dict(judge.with_uid(HALVES.make_pod(i))) for i in range(6))
    placements = [harness.schedule(pod).node_name for pod in pods]

    assert judge.judge(HALVES, 3, placements).share == 1.0


def test_full_node_is_not_feasible() -> None:
    """Three halves do not fit on a node."""
    verdict = judge.judge(HALVES, 2, [A, A, A])

    assert verdict.first_other.startswith(f"pod-000001 on {A}: it scored ")
    assert judge.judge(HALVES, 1, [A, A, A]).first_other == f"pod-000002 on {A}: only no node was feasible"


def test_equal_share() -> None:
    assert judge.equal_share(["a", "b", "c", "d"], ["a", "b", "x", "y"]) == 0.5
