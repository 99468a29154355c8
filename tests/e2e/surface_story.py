"""The run that the surface is recorded and compared with: pods that fit, that do not, that wait and that evict.

Twelve pods fill three nodes, a13 finds no room, `gated` waits for its gate, and `pre` makes room for itself.
"""

from __future__ import annotations

import http.client
import ssl

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from tests.e2e.api import Api, Object, eventually
from tests.e2e.objects import create_priority_classes, node, pod, priority_class

NODES = [node(f"m{i}", cpu="2", memory="4Gi") for i in range(3)]
EVENTS = "events.k8s.io/v1/Event"
#: What has happened when the story is over; the last is of the scheduler itself.
REASONS = ("Scheduled", "FailedScheduling", "Preempted", "LeaderElection")


def tell_the_story(api: Api) -> None:
    """With a scheduler that is elected; it ends when all events are there."""
    for i in range(1, 14):
        api.create(pod(f"a{i}", cpu="500m"))
    eventually(lambda: all(condition(api, f"a{i}") for i in range(1, 14)))
    create_priority_classes(api, [priority_class("high", 9)])
    gated = pod("gated", schedulingGates=[{"name": "example.com/later"}])
    gated["spec"]["containers"][0]["resources"] = {}
    api.create(gated)
    api.create(pod("pre", cpu="500m", priorityClassName="high"))
    eventually(lambda: api.get("Pod", "pre")["status"].get("nominatedNodeName"))
    eventually(lambda: set(REASONS) <= {event["reason"] for event in api.list(EVENTS)})


def condition(api: Api, name: str) -> Object | None:
    """PodScheduled."""
    found = [
        each for each in api.get("Pod", name)["status"].get("conditions", ()) if each["type"] == "PodScheduled"
    ]
    return found[0] if found else None


def spared_pod(api: Api) -> str:
    """A bound pod like a1, which may be the victim: the nodes are equally good candidates."""
    return next(
        name
        for name in (f"a{i}" for i in range(1, 13))
        if "deletionTimestamp" not in api.get("Pod", name)["metadata"]
    )


def scraped(api: Api, path: str) -> dict[str, Metric]:
    """The metrics of a component, by their full names."""
    status, text = api.raw("GET", path, accept="text/plain")
    assert status == 200, f"{path} answers {status}"
    families: dict[str, Metric] = {}
    for family in text_string_to_metric_families(text.decode()):
        families[f"{family.name}_total" if family.type == "counter" else family.name] = family
    return families


def status_for_a_stranger(port: int, path: str) -> int:
    """What somebody without a token or a certificate is answered."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=tls, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()
