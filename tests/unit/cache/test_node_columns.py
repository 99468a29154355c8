"""Taints, unschedulable flags and images of the nodes."""

from __future__ import annotations

import pytest

from bayplan.cache.node_store import NodeStore
from bayplan.model import Node
from bayplan.testing import make_node


def with_images(name: str, **sizes: int) -> Node:
    images = [{"names": [image], "sizeBytes": size} for image, size in sizes.items()]
    return make_node(name, status={"images": images})


def test_equal_taints_have_one_number() -> None:
    """The time at which a taint was added makes no difference."""
    store = NodeStore()
    store.set_node(make_node("a"))
    store.set_node(make_node("b", taints=["k=v:NoSchedule"]))
    timed = [{"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}]
    store.set_node(Node.from_dict({"metadata": {"name": "c"}, "spec": {"taints": timed, "unschedulable": True}}))
    assert store.taints.codes.data[:3].tolist() == [0, 1, 1]
    assert [len(taints) for taints in store.taints.sets] == [0, 1]
    assert store.taints.unschedulable.data[:3].tolist() == [False, False, True]


def test_taints_of_a_removed_node_are_gone() -> None:
    """Its row, or the one that the last node leaves, is clear for the next node."""
    store = NodeStore()
    store.set_node(make_node("a", taints=["k=v:NoSchedule"], unschedulable=True))
    store.set_node(make_node("b"))
    store.remove_node("a")
    assert not store.taints.codes.data.any()
    assert not store.taints.unschedulable.data.any()


def test_size_of_an_image_is_the_first_reported() -> None:
    """As in kube-scheduler; it is forgotten with the last node that has the image."""
    store = NodeStore()
    store.set_node(with_images("a", app=5))
    store.set_node(with_images("b", app=9, other=3))
    assert store.images.sizes("app").tolist() == [5, 5]
    assert store.images.sizes("other").tolist() == [0, 3]
    assert store.images.sizes("unknown").tolist() == [0, 0]
    store.set_node(with_images("a"))
    assert store.images.sizes("app").tolist() == [0, 5]
    store.set_node(with_images("b"))
    store.set_node(with_images("b", app=9))
    assert store.images.sizes("app").tolist() == [0, 9]


def test_images_move_with_their_row() -> None:
    store = NodeStore()
    store.set_node(with_images("a", app=5))
    store.set_node(make_node("b"))
    store.set_node(with_images("c", other=3))
    store.remove_node("a")
    assert store.images.sizes("app").tolist() == [0, 0]
    assert store.images.sizes("other").tolist() == [3, 0]
    assert "app" not in store.images.by_name


def test_sizes_cannot_be_written() -> None:
    store = NodeStore()
    store.set_node(with_images("a", app=5))
    with pytest.raises(ValueError, match="read-only"):
        store.images.sizes("app")[0] = 1
