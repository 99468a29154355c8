"""The Lease as a lock: what is read and written."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.client.errors import TransportError
from bayplan.client.lease_lock import ElectionRecord, LeaseLock
from bayplan.testing import VirtualClock

pytestmark = pytest.mark.asyncio

RECORD = ElectionRecord("me", 15, "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:02.000000Z", 3)
SPEC = {
    "holderIdentity": "me",
    "leaseDurationSeconds": 15,
    "acquireTime": "2026-01-01T00:00:00.000000Z",
    "renewTime": "2026-01-01T00:00:02.000000Z",
    "leaseTransitions": 3,
}


class Client:
    """Implements `LeaseClient`: keeps what is written."""

    def __init__(self, lease: dict[str, Any] | None = None) -> None:
        self.lease = lease or {}
        self.events: list[Any] = []
        self.fails = False

    async def get_lease(self, namespace: str, name: str) -> dict[str, Any]:
        return self.lease

    async def create_lease(self, namespace: str, lease: Any) -> dict[str, Any]:
        self.lease = {**lease, "metadata": {**lease["metadata"], "uid": "u1", "resourceVersion": "1"}}
        return self.lease

    async def update_lease(self, namespace: str, name: str, lease: Any) -> dict[str, Any]:
        self.lease = lease
        return self.lease

    async def create_core_event(self, namespace: str, event: Any) -> None:
        if self.fails:
            raise TransportError("cut", sent=True)
        self.events.append(event)


def lock_of(client: Client) -> LeaseLock:
    clock = VirtualClock(start=1_800_000_000)
    return LeaseLock(client, clock, namespace="kube-system", name="kube-scheduler", identity="me")


async def test_record_is_created_and_read() -> None:
    client = Client()
    lock = lock_of(client)
    await lock.create(RECORD)
    assert client.lease["spec"] == SPEC
    assert await lock.get() == RECORD
    assert (lock.identity, str(lock)) == ("me", "kube-system/kube-scheduler")


async def test_empty_lease_is_an_empty_record() -> None:
    """As a lease that was released, or created by hand."""
    assert await lock_of(Client({"spec": {"holderIdentity": None}})).get() == ElectionRecord()
    assert await lock_of(Client({})).get() == ElectionRecord()


async def test_update_keeps_the_rest_of_the_lease() -> None:
    """Labels stay, and with the resourceVersion a change by others is a conflict."""
    meta = {"name": "kube-scheduler", "labels": {"a": "b"}, "resourceVersion": "7"}
    client = Client({"metadata": meta, "spec": {}})
    lock = lock_of(client)
    await lock.get()
    await lock.update(RECORD)
    assert client.lease == {"metadata": meta, "spec": SPEC}


async def test_event_is_about_the_lease() -> None:
    client = Client()
    lock = lock_of(client)
    await lock.create(RECORD)
    await lock.record_event("became leader")
    (event,) = client.events
    assert event["message"] == "me became leader"
    assert event["reason"] == "LeaderElection"
    assert event["involvedObject"] == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "name": "kube-scheduler",
        "namespace": "kube-system",
        "uid": "u1",
        "resourceVersion": "1",
    }
    assert event["firstTimestamp"] == "2027-01-15T08:00:00Z"


async def test_event_that_cannot_be_written_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    client = Client()
    client.fails = True
    await lock_of(client).record_event("became leader")
    assert "not written: cut" in caplog.text
