"""The metrics of DynamicResources: names and labels are those of the release."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devices.device_objects import DRIVER, exactly, make_claim
from tests.unit.plugins.bench import Bench

from bayplan.plugins.devices._claim_metrics import ClaimMetrics


def scraped(bench: Bench) -> list[str]:
    """The lines of a scrape, without comments and buckets."""
    text = bench.core.plugin_metrics.registry.text().decode()
    return [line for line in text.splitlines() if not line.startswith("#") and "_bucket" not in line]


def result(device: str, **fields: Any) -> dict[str, Any]:
    return {"request": "r", "driver": DRIVER, "pool": "p", "device": device, **fields}


@pytest.mark.parametrize(
    ("release", "line"),
    [
        ("1.36", 'scheduler_resourceclaim_creates_total{status="success"} 1.0'),
        (
            "1.37",
            "dynamic_resource_allocation_resourceclaim_creates_total"
            '{admin_access="false",owner_api_group="",owner_api_kind="Pod",status="success"} 1.0',
        ),
    ],
)
def test_created_claims_are_counted(release: str, line: str) -> None:
    bench = Bench(release=release)
    ClaimMetrics(bench.handle).claim_created("success")
    assert scraped(bench) == [line]


def test_waiting_is_measured_for_every_device_and_counted_for_those_that_are_waited_for() -> None:
    bench = Bench()
    results = [result("a"), result("b", bindingConditions=["Attached"])]
    claim = make_claim("c", exactly(), status={"allocation": {"devices": {"results": results}}})
    ClaimMetrics(bench.handle).devices_awaited([claim, make_claim("d", exactly())], 5.0, "timeout")
    labels = f'{{driver="{DRIVER}",profile="default-scheduler",status="timeout"}}'
    assert scraped(bench) == [
        f"scheduler_dra_bindingconditions_allocations_total{labels} 1.0",
        f"scheduler_dra_bindingconditions_wait_duration_seconds_sum{labels} 10.0",
        f"scheduler_dra_bindingconditions_wait_duration_seconds_count{labels} 2.0",
    ]


def test_nothing_is_declared_before_there_is_something_to_count() -> None:
    bench = Bench()
    ClaimMetrics(bench.handle)
    assert scraped(bench) == []
