"""The taints for a node's conditions and its cordon."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.controllers.node_lifecycle import wanted_taints
from bayplan.model import Node


@pytest.mark.parametrize(
    ("conditions", "spec", "expected"),
    [
        pytest.param({"Ready": "True"}, {}, [], id="ready"),
        pytest.param({}, {}, [], id="nothing reported yet"),
        pytest.param(
            {"Ready": "False"},
            {},
            [("node.kubernetes.io/not-ready", "NoSchedule"), ("node.kubernetes.io/not-ready", "NoExecute")],
            id="not ready",
        ),
        pytest.param(
            {"Ready": "Unknown"},
            {},
            [("node.kubernetes.io/unreachable", "NoSchedule"), ("node.kubernetes.io/unreachable", "NoExecute")],
            id="unreachable",
        ),
        pytest.param(
            {"Ready": "True", "MemoryPressure": "True", "DiskPressure": "False"},
            {},
            [("node.kubernetes.io/memory-pressure", "NoSchedule")],
            id="pressure only where it is",
        ),
        pytest.param(
            {"Ready": "True"},
            {"unschedulable": True},
            [("node.kubernetes.io/unschedulable", "NoSchedule")],
            id="cordoned",
        ),
    ],
)
def test_taints(conditions: dict[str, str], spec: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    status = {"conditions": [{"type": type, "status": status} for type, status in conditions.items()]}
    node = Node.from_dict({"metadata": {"name": "n"}, "spec": spec, "status": status})
    assert wanted_taints(node) == expected
