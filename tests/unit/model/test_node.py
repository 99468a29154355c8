"""Nodes: what they offer, and their conditions."""

import pytest

from bayplan.model import Node, ObjectError


def test_allocatable_is_in_the_schedulers_units() -> None:
    """cpu in thousandths, the number of pods included, names that are not counted left out."""
    allocatable = {"cpu": "4", "memory": "1Ki", "pods": "110", "foo": "1"}
    node = Node.from_dict({"status": {"allocatable": allocatable}})

    assert node.allocatable == {"cpu": 4000, "memory": 1024, "pods": 110}


def test_invalid_allocatable_names_node_and_field() -> None:
    node = Node.from_dict({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "much"}}})

    with pytest.raises(ObjectError, match=r"Node n: status\.allocatable: invalid quantity 'much'"):
        _ = node.allocatable


def test_conditions_and_taints() -> None:
    node = Node.from_dict(
        {"spec": {"taints": [{"key": "k"}]}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    )

    ready = node.condition("Ready")
    assert ready is not None
    assert ready.status == "True"
    assert node.condition("DiskPressure") is None
    assert node.taints[0].key == "k"
