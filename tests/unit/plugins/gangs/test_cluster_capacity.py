"""Whether the cluster has room for a group: what is left, in Go's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plugins.gangs.support import make_group, make_member

from bayplan.model import Node, Pod, Quantity
from bayplan.plugins.gangs._cluster_capacity import resource_gap, wanted_by
from bayplan.testing import Harness, make_node, make_pod


def gap(
    wanted: dict[str, str], nodes: list[Node], pods: list[Pod] | None = None, own: list[Pod] | None = None
) -> str:
    table = Harness(nodes=nodes, pods=[*(pods or []), *(own or [])]).profile().handle.snapshot.nodes
    return resource_gap(table, {name: Quantity.parse(text) for name, text in wanted.items()}, own or [])


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"cpu": "8"}, ""),
        ({"cpu": "8001m"}, "map[cpu:{{1 -3} {<nil>}  DecimalSI}]"),
        ({"cpu": "10"}, "map[cpu:{{2000 -3} {<nil>}  DecimalSI}]"),
        ({"memory": "65Gi"}, "map[memory:{{1073741824 0} {<nil>}  BinarySI}]"),
        ({"memory": "70G"}, "map[memory:{{1280523264 0} {<nil>}  DecimalSI}]"),
        ({"example.com/gpu": "3"}, "map[example.com/gpu:{{3 0} {<nil>}  DecimalSI}]"),
        ({"pods": "230", "cpu": "9"}, "map[cpu:{{1000 -3} {<nil>}  DecimalSI} pods:{{10 0} {<nil>}  DecimalSI}]"),
        ({"cpu": "0"}, ""),
    ],
    ids=[
        "enough",
        "a thousandth",
        "two cpus",
        "binary",
        "decimal",
        "unknown resource",
        "several",
        "nothing wanted",
    ],
)
def test_gap_is_what_two_nodes_lack(wanted: dict[str, str], expected: str) -> None:
    """Two nodes with 4 cpus, 32Gi and 110 pods; a quantity keeps its own format and takes the finer scale."""
    assert gap(wanted, [make_node("a"), make_node("b")]) == expected


def test_full_nodes_leave_the_wanted_as_written() -> None:
    """Nothing is taken away from it, so its scale stays."""
    full = make_pod("full", cpu="4", node_name="a")

    assert gap({"cpu": "4"}, [make_node("a")], [full]) == "map[cpu:{{4 0} {<nil>}  DecimalSI}]"


def test_own_pods_do_not_count() -> None:
    """What the group's pods hold already is theirs to use."""
    own = [make_member(f"g-{i}", "g", node_name="a") for i in range(3)]

    assert gap({"cpu": "4", "pods": "4"}, [make_node("a", pods=4)], own=own) == ""
    assert gap({"cpu": "4"}, [make_node("a")], pods=own) == "map[cpu:{{3000 -3} {<nil>}  DecimalSI}]"


def test_overcommitted_node_takes_away_from_what_follows() -> None:
    """It adds to the gap, unless the nodes before it have had enough."""
    over = make_pod("over", cpu="6", node_name="b")

    assert gap({"cpu": "4"}, [make_node("a"), make_node("b")], [over]) == ""
    assert gap({"cpu": "5"}, [make_node("a"), make_node("b")], [over]) == "map[cpu:{{3000 -3} {<nil>}  DecimalSI}]"


def test_group_wants_its_pods_too() -> None:
    """minMember counts as a resource, whatever minResources say of it."""
    wanted = wanted_by(make_group("g", 3, minResources={"cpu": "2", "pods": "99"}))

    assert wanted == {"cpu": Quantity.parse("2"), "pods": Quantity.parse("3")}


@given(
    wanted=st.integers(0, 40),
    nodes=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 10)), min_size=1, max_size=6),
)
def test_columns_come_to_what_one_node_after_another_does(wanted: int, nodes: list[tuple[int, int]]) -> None:
    """The shortcut equals taking away each node's rest until nothing is wanted any more."""
    left = Quantity.parse(str(wanted))
    is_enough = False
    for cpus, used in nodes:
        left = left - Quantity((cpus - used) * 1000, -3)
        if left.sign <= 0:
            is_enough = True
            break
    expected = "" if is_enough else f"map[cpu:{{{{{left.unscaled} {left.scale}}} {{<nil>}}  {left.format}}}]"

    objects = [make_node(f"n{i}", cpu=str(cpus)) for i, (cpus, _) in enumerate(nodes)]
    pods = [make_pod(f"p{i}", cpu=str(used), node_name=f"n{i}") for i, (_, used) in enumerate(nodes) if used]
    assert gap({"cpu": str(wanted)}, objects, pods) == expected
