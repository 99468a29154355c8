"""QOSSort: priority, then quality of service, then time."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.unit.plugins.bench import Bench

from bayplan.model import Pod
from bayplan.plugins.queueing.qos_sort import QOSSort
from bayplan.testing import make_pod

AMOUNTS = {"cpu": "1", "memory": "1Gi"}


class Queued(NamedTuple):
    pod: Pod
    timestamp: float
    initial_attempt_timestamp: float | None = None
    attempts: int = 0


def pod_of(name: str, resources: dict[str, Any], priority: int = 0) -> Pod:
    return make_pod(name, priority=priority, spec={"containers": [{"name": "c", "resources": resources}]})


def test_quality_of_service_breaks_ties_of_priority() -> None:
    """Guaranteed before Burstable before BestEffort; among equals, who waited longer."""
    sort_key = Bench().plugin(QOSSort).sort_key
    queued = [
        Queued(pod_of("best-effort", {}), 0.0),
        Queued(pod_of("burstable-late", {"requests": AMOUNTS}), 9.0),
        Queued(pod_of("guaranteed", {"limits": AMOUNTS, "requests": AMOUNTS}), 5.0),
        Queued(pod_of("burstable-early", {"requests": {"cpu": "1"}}), 8.0),
        Queued(pod_of("important", {}, priority=1), 10.0),
    ]
    order = [each.pod.name for each in sorted(queued, key=sort_key)]
    assert order == ["important", "guaranteed", "burstable-early", "burstable-late", "best-effort"]
