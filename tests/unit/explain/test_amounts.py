"""Amounts as text, and requests that are lowered."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.explain.amounts import amount_text, lower_request
from bayplan.model import Pod


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 3 * 2**30, "3Gi"),
        ("memory", 512 * 2**20, "512Mi"),
        ("memory", 1000, "1000"),
        ("example.com/gpu", 2, "2"),
    ],
)
def test_an_amount_reads_like_a_quantity(resource: str, amount: int, text: str) -> None:
    assert amount_text(resource, amount) == text


def _manifest(*cpus: str, init: str = "", **spec: Any) -> dict[str, Any]:
    containers = [{"name": f"c{i}", "resources": {"requests": {"cpu": cpu}}} for i, cpu in enumerate(cpus)]
    if init:
        spec["initContainers"] = [{"name": "init", "resources": {"requests": {"cpu": init}}}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(_manifest("4"), id="one container"),
        pytest.param(_manifest("3", "1"), id="two containers"),
        pytest.param(_manifest("500m", init="4"), id="an init container"),
        pytest.param(_manifest("2", overhead={"cpu": "500m"}), id="overhead"),
    ],
)
def test_the_pod_requests_no_more_than_the_target(manifest: dict[str, Any]) -> None:
    """By the model's own arithmetic; and not less than it need."""
    assert lower_request(manifest, "cpu", 1000)

    assert Pod.from_dict(manifest).all_requests["cpu"] == 1000


def test_a_limit_of_an_extended_resource_is_lowered_with_the_request() -> None:
    """The API wants them to be the same."""
    gpu = {"example.com/gpu": "4"}
    manifest = {"spec": {"containers": [{"name": "c", "resources": {"requests": dict(gpu), "limits": dict(gpu)}}]}}

    assert lower_request(manifest, "example.com/gpu", 1)

    resources = manifest["spec"]["containers"][0]["resources"]
    assert resources == {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}


def test_overhead_cannot_be_lowered() -> None:
    """It comes with the runtime class."""
    assert not lower_request(_manifest("1", overhead={"cpu": "2"}), "cpu", 1000)
