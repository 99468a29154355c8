"""Objects that the scheduler writes."""

from bayplan.model import Event, Lease


def test_lease_of_the_api() -> None:
    spec = {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
    lease = Lease.from_dict({"metadata": {"name": "x", "namespace": "kube-system"}, "spec": spec})

    assert lease.spec.holder_identity == "me"
    assert lease.to_dict()["spec"] == spec


def test_event_of_the_api() -> None:
    """A series counts repetitions."""
    event = Event.from_dict({"regarding": {"kind": "Pod", "name": "p"}, "series": {"count": 3}, "note": "text"})

    assert (event.regarding.name, event.note) == ("p", "text")
    assert event.series is not None
    assert event.series.count == 3
