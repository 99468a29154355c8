"""Amounts in floating point give what whole numbers give, or give up; they follow what happens to the nodes."""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cache import Cache
from bayplan.cache.derived_columns import MAX_REFRESHES
from bayplan.config.args.base import ResourceSpec
from bayplan.config.args.resources import ScoringStrategy
from bayplan.framework import NodeTable
from bayplan.model import Node, Pod
from bayplan.plugins.resources import _float_amounts
from bayplan.plugins.resources._few_nodes import FEW
from bayplan.plugins.resources._float_amounts import float_amounts
from bayplan.plugins.resources._resource_scores import node_usage, strategy_of
from bayplan.plugins.resources.node_resources_balanced_allocation import balance
from bayplan.testing import make_node, make_pod

N_NODES: Final = FEW + 4
STORAGE: Final = "ephemeral-storage"
VAST: Final = 2**45

Amounts = tuple[int, int, int]

plain = st.one_of(st.integers(1, 300), st.integers(1, 2**40), st.sampled_from([1, 3, 4000, VAST - 1]))
offers = st.tuples(plain, plain, plain)
requests = st.tuples(*[st.one_of(st.just(0), plain)] * 3)
odd = st.tuples(*[st.sampled_from([0, 5, VAST, 2**62])] * 3)
#: What happens to which node; 0 stands for a resource that nobody offers or requests.
steps = st.lists(
    st.tuples(st.sampled_from(["place", "remove", "offer"]), st.integers(0, N_NODES - 1), requests | offers | odd),
    max_size=8,
)


def node(number: int, amounts: Amounts) -> Node:
    cpu, memory, storage = amounts
    return make_node(f"n{number}", cpu=f"{cpu}m", memory=str(memory), pods=3, resources={STORAGE: str(storage)})


def pod(amounts: Amounts, node_name: str = "") -> Pod:
    cpu, memory, storage = amounts
    texts = {"cpu": f"{cpu}m" if cpu else "", "memory": str(memory or ""), STORAGE: str(storage or "")}
    return make_pod("p", requests={name: text for name, text in texts.items() if text}, node_name=node_name)


def happens(cache: Cache, placed: list[Pod], what: str, number: int, amounts: Amounts) -> None:
    if what == "offer":
        cache.set_node(node(number, amounts))
    elif what == "place":
        placed.append(pod(amounts, f"n{number}"))
        cache.add_pod(placed[-1])
    elif placed:
        cache.remove_pod(placed.pop(number % len(placed)).uid)


def resources(names: tuple[str, ...]) -> list[ResourceSpec]:
    return [ResourceSpec(name=name, weight=i + 1) for i, name in enumerate(names)]


def are_plain(nodes: NodeTable, names: tuple[str, ...]) -> bool:
    for name in names:
        of_pods = nodes.requested(name) if name == STORAGE else nodes.nonzero_requested(name)
        columns = (of_pods, nodes.requested(name), nodes.allocatable(name))
        if any(not 0 <= amount < VAST for column in columns for amount in column.tolist()):
            return False
        if 0 in nodes.allocatable(name).tolist():
            return False
    return True


def compare(nodes: NodeTable, names: tuple[str, ...], subject: Pod) -> None:
    """All that is asked of plain amounts, beside the same in whole numbers."""
    amounts = float_amounts(nodes, names)
    if amounts is None:
        return
    assert are_plain(nodes, names)
    for kind in ("LeastAllocated", "MostAllocated"):
        usages = node_usage(nodes, resources(names), subject.scoring_requests, nonzero=True)
        weights = [each.weight for each in resources(names)]
        scores = amounts.allocation_scores(subject.scoring_requests, weights, least=kind == "LeastAllocated")
        assert scores is not None
        assert scores.tolist() == strategy_of(ScoringStrategy(type=kind))(usages, len(nodes)).tolist()
    usages = node_usage(nodes, resources(names), subject.all_requests, nonzero=False)
    without_pod, with_pod = balance(usages, len(nodes))
    balanced = amounts.balance_scores(subject.all_requests)
    assert balanced is not None
    assert balanced.tolist() == [50 + int(change / 2) for change in (50 + with_pod - without_pod).tolist()]
    for name, amount in subject.spec_requests.items():
        if name in names and amounts.leave_room(name, amount):
            assert (amount <= nodes.allocatable(name) - nodes.requested(name)).all()
    if amounts.leave_room_for_a_pod:
        assert (nodes.pod_counts() < nodes.allocatable("pods")).all()


@pytest.mark.filterwarnings("ignore:overflow encountered in scalar")  # as Go's numbers do
@pytest.mark.parametrize("names", [("cpu", "memory"), ("memory", "cpu", STORAGE)], ids=["two", "three"])
@given(
    first=st.lists(offers, min_size=N_NODES, max_size=N_NODES), steps=steps, wanted=st.lists(requests, min_size=9)
)
def test_scores_are_those_of_whole_numbers(
    names: tuple[str, ...], first: list[Amounts], steps: list[tuple[str, int, Amounts]], wanted: list[Amounts]
) -> None:
    """After any changes, for all nodes and for some of them."""
    cache, placed = Cache(), list[Pod]()
    for number, amounts in enumerate(first):
        cache.set_node(node(number, amounts))
    nodes = cache.snapshot().nodes
    assert float_amounts(nodes, names) is not None
    compare(nodes, names, pod(wanted[0]))
    for i, (what, number, amounts) in enumerate(steps, start=1):
        happens(cache, placed, what, number, amounts)
        compare(nodes, names, pod(wanted[i]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_float_amounts, "MANY", 1)
        compare(nodes.select(np.arange(1, N_NODES, 2)), names, pod(wanted[0]))


def test_room_is_found_again() -> None:
    """What is free everywhere only ever gets less, until it is looked for again."""
    cache = Cache()
    for number in range(N_NODES):
        cache.set_node(node(number, (1000, 1000, 1)))
    nodes, large = cache.snapshot().nodes, pod((900, 900, 0), "n1")

    def has_room() -> bool:
        amounts = float_amounts(nodes, ("cpu", "memory"))
        return amounts is not None and amounts.leave_room("cpu", 500)

    found = [has_room()]
    cache.add_pod(large)
    found.append(has_room())
    cache.remove_pod(large.uid)
    found.append(has_room())
    for refresh in range(MAX_REFRESHES - 2):
        cache.set_node(node(0, (2000 + refresh, 2000, 1)))
        found.append(has_room())
    assert found == [True] + [False] * MAX_REFRESHES
    cache.set_node(node(0, (2000, 2000, 1)))
    assert has_room()


@pytest.mark.parametrize("request_bytes", [-1, VAST, 2**62], ids=["negative", "vast", "about to overflow"])
def test_odd_requests_are_left_to_whole_numbers(request_bytes: int) -> None:
    """Go's whole numbers wrap around, floating point does not."""
    cache = Cache()
    for number in range(N_NODES):
        cache.set_node(node(number, (1000, 1000, 1)))
    amounts = float_amounts(cache.snapshot().nodes, ("cpu", "memory"))
    assert amounts is not None
    assert amounts.allocation_scores({"memory": request_bytes}, [1, 1], least=True) is None
    assert amounts.balance_scores({"memory": request_bytes}) is None
