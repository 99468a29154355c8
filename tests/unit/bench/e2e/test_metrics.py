"""Requests, as the API server counts them."""

from __future__ import annotations

from collections import Counter

import pytest
from bench.e2e import metrics

BEFORE = """\
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="binding",verb="POST",version="v1"} 5
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="pods",scope="cluster",subresource="",verb="LIST",version="v1"} 3
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="nodes",scope="resource",subresource="",verb="PATCH",version="v1"} 3
apiserver_request_duration_seconds_count{resource="pods",verb="POST",subresource=""} 9
"""  # noqa: E501
AFTER = """\
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="binding",verb="POST",version="v1"} 15
apiserver_request_total{code="409",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="binding",verb="POST",version="v1"} 2
apiserver_request_total{code="201",component="apiserver",dry_run="",group="events.k8s.io",resource="events",scope="resource",subresource="",verb="POST",version="v1"} 1e+01
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="POST",version="v1"} 10
"""  # noqa: E501


def test_pods_and_events_are_counted() -> None:
    """By verb, resource and code; lists, watches and other resources are not what a pod costs."""
    assert metrics.handled_requests(BEFORE) == Counter({("POST pods/binding", "201"): 5})


def test_difference_is_the_schedulers() -> None:
    """The requests of the driver are subtracted, and refusals are named."""
    sent, refused = metrics.between(
        metrics.handled_requests(BEFORE), metrics.handled_requests(AFTER), {"POST pods": 10, "GET x": 1}
    )

    assert sent == {"POST events": 10, "POST pods/binding": 12}
    assert refused == {"409 POST pods/binding": 2}


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("POST", "/api/v1/namespaces/bench/pods", "POST pods"),
        ("POST", "/api/v1/namespaces/bench/pods/a/binding", "POST pods/binding"),
        ("DELETE", "/api/v1/namespaces/bench/pods/a", "DELETE pods"),
        ("PATCH", "/api/v1/nodes/a", "PATCH nodes"),
        ("POST", "/api/v1/namespaces", "POST namespaces"),
        ("POST", "/apis/events.k8s.io/v1/namespaces/bench/events", "POST events"),
        ("GET", "/metrics", "GET "),
    ],
)
def test_driver_counts_by_the_same_names(method: str, path: str, name: str) -> None:
    """A request has the name that the API server's metrics give it."""
    assert metrics.request_name(method, path) == name
