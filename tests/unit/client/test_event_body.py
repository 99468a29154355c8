"""The JSON of an event."""

import msgspec

from bayplan.client.event_body import EventBody, EventMetadata, EventTarget, event_target
from bayplan.model import Node, Pod

POD = Pod.from_dict({"metadata": {"name": "p", "namespace": "ns", "uid": "u1", "resourceVersion": "7"}})
NODE = Node.from_dict({"metadata": {"name": "n"}})


def test_target_is_one_version_of_the_object() -> None:
    assert event_target(POD) == EventTarget("Pod", "ns", "p", "u1", "v1", "7")


def test_empty_fields_are_omitted() -> None:
    assert msgspec.json.encode(event_target(NODE)) == b'{"kind":"Node","name":"n","apiVersion":"v1"}'


def test_fields_are_in_the_order_of_the_api() -> None:
    event = EventBody(
        "events.k8s.io/v1",
        "Event",
        EventMetadata("p.1", "ns"),
        "2026-01-01T00:00:00.000000Z",
        "default-scheduler",
        "default-scheduler-host",
        "Binding",
        "Scheduled",
        event_target(NODE),
        "note",
        "Normal",
    )
    assert list(msgspec.json.decode(msgspec.json.encode(event))) == [
        "apiVersion",
        "kind",
        "metadata",
        "eventTime",
        "reportingController",
        "reportingInstance",
        "action",
        "reason",
        "regarding",
        "note",
        "type",
    ]
