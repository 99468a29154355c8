"""Objects that the scheduler writes: the Lease for leader election, and Events."""

from typing import ClassVar

from bayplan.model.kube_object import ApiStruct, KubeObject, ObjectReference


class LeaseSpec(ApiStruct, frozen=True, kw_only=True):
    """Who holds the lease and since when; times are to the microsecond."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(KubeObject, frozen=True, kw_only=True):
    """A lease of coordination.k8s.io."""

    KIND: ClassVar[str] = "Lease"
    API_VERSION: ClassVar[str] = "coordination.k8s.io/v1"
    PLURAL: ClassVar[str] = "leases"

    spec: LeaseSpec = LeaseSpec()


class EventSeries(ApiStruct, frozen=True, kw_only=True):
    """An event that happened again: how often, and when last."""

    count: int = 0
    last_observed_time: str | None = None


class Event(KubeObject, frozen=True, kw_only=True):
    """An event of events.k8s.io about an object."""

    KIND: ClassVar[str] = "Event"
    API_VERSION: ClassVar[str] = "events.k8s.io/v1"
    PLURAL: ClassVar[str] = "events"

    event_time: str | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""
