"""Labels, topology domains and selectors over the nodes."""

from __future__ import annotations

import pytest

from bayplan.cache.label_columns import MAX_MASKS
from bayplan.cache.node_store import NodeStore
from bayplan.model import compile_node_selector, selector_from_labels
from bayplan.model.pod_fields import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from bayplan.testing import make_node


@pytest.fixture
def store() -> NodeStore:
    store = NodeStore()
    for name, size in (("a", "1"), ("b", "10"), ("c", ""), ("d", "1")):
        store.set_node(make_node(name, labels={"size": size} if size else {}))
    return store


def matching(store: NodeStore, *, labels: list[tuple[str, str, list[str]]], fields: list[str] = []) -> str:  # noqa: B006
    """The names of the nodes that a node selector of one term accepts."""
    selector = compile_node_selector(
        NodeSelector(
            node_selector_terms=(
                NodeSelectorTerm(
                    match_expressions=tuple(
                        NodeSelectorRequirement(key=key, operator=operator, values=tuple(values))
                        for key, operator, values in labels
                    ),
                    match_fields=tuple(
                        NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,))
                        for name in fields
                    ),
                ),
            )
        )
    )
    mask = store.labels.mask(selector)
    return "".join(node.name for node, is_in in zip(store.nodes, mask, strict=True) if is_in)


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("In", ["1"], "ad"),
        ("In", ["1", "unknown"], "ad"),
        ("NotIn", ["1"], "bc"),
        ("Exists", [], "abd"),
        ("DoesNotExist", [], "c"),
        ("Gt", ["5"], "b"),
        ("Lt", ["5"], "ad"),
    ],
)
def test_selectors_match_as_node_by_node(
    store: NodeStore, operator: str, values: list[str], expected: str
) -> None:
    assert matching(store, labels=[("size", operator, values)]) == expected


def test_requirements_of_a_term_apply_together(store: NodeStore) -> None:
    """Labels and the node's name."""
    assert matching(store, labels=[("size", "In", ["1"])], fields=["d"]) == "d"
    assert matching(store, labels=[("size", "In", ["1"])], fields=["b"]) == ""


def test_masks_follow_the_labels(store: NodeStore) -> None:
    """A mask is cached until the labels of a node change, or a node is added or removed."""
    selector = selector_from_labels({"size": "1"})
    first = store.labels.mask(selector)
    store.set_node(make_node("a", cpu="64", labels={"size": "1"}))
    assert store.labels.mask(selector) is first
    store.set_node(make_node("b", labels={"size": "1"}))
    assert store.labels.mask(selector).tolist() == [True, True, False, True]
    store.remove_node("a")
    assert store.labels.mask(selector).tolist() == [True, True, False]


def test_oldest_mask_is_dropped(store: NodeStore) -> None:
    first, *others = (selector_from_labels({"size": str(size)}) for size in range(MAX_MASKS + 1))
    mask = store.labels.mask(first)
    for other in others:
        store.labels.mask(other)
    assert store.labels.mask(first) is not mask
    assert store.labels.mask(first).tolist() == mask.tolist()


def test_domains_are_the_values_that_nodes_have(store: NodeStore) -> None:
    """Numbers are dense: a value that no node has any more is not a domain. Nodes without one are at the end."""
    domains = store.labels.domains("size")
    assert (domains.n_domains, domains.of_node.tolist()) == (2, [0, 1, 2, 0])
    store.set_node(make_node("b", labels={"size": "7"}))
    domains = store.labels.domains("size")
    assert (domains.n_domains, domains.of_node.tolist()) == (2, [0, 1, 2, 0])


def test_domains_that_are_the_nodes_are_known(store: NodeStore) -> None:
    assert store.labels.domains("kubernetes.io/hostname").is_node
    assert not store.labels.domains("size").is_node
