"""Several schedulers on one cluster: who is alone with his nodes never takes what another has."""

from __future__ import annotations

import pytest
from bench.several import PACKING, SPREADING, Costs, Simulation
from bench.workload import load_workload

#: A bind takes ten pods' time to become known.
COSTS = Costs(own_pod=0.001, others_pod=0.0001, bind=0.0002, watch=0.01)


def simulated(split: str, strategy: str, processes: int) -> Simulation:
    simulation = Simulation(
        load_workload("mixed"), split, strategy, processes=processes, nodes=4, fill=0.9, costs=COSTS
    )
    simulation.run()
    return simulation


@pytest.mark.parametrize("strategy", [SPREADING, PACKING])
@pytest.mark.parametrize(("split", "processes"), [("pods", 1), ("nodes", 4)])
def test_no_pod_is_rejected_if_nodes_have_one_scheduler(split: str, processes: int, strategy: str) -> None:
    assert simulated(split, strategy, processes).n_rejected == 0


def test_pods_of_schedulers_that_fill_the_same_node_are_rejected_and_retried() -> None:
    """Packing, all of them prefer the fullest node, and know of each other's pods too late."""
    simulation = simulated("pods", PACKING, 4)
    assert simulation.n_rejected > 0
    assert simulation.n_without_node == 0


def test_more_processes_take_less_time() -> None:
    alone, four = simulated("nodes", SPREADING, 1), simulated("nodes", SPREADING, 4)
    assert four.n_pods == alone.n_pods
    assert four.seconds < alone.seconds / 2
