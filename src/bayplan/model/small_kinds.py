"""Kinds of a few fields: what the scheduler writes (the Lease for leader election, Events), and what only plugins
read (ConfigMaps, Secrets)."""

from typing import ClassVar

from bayplan.model.kube_object import ApiStruct, KubeObject, ObjectReference
from bayplan.model.read_only import EMPTY, freeze


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


class ConfigMap(KubeObject, frozen=True, kw_only=True):
    """Settings by name."""

    KIND: ClassVar[str] = "ConfigMap"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "configmaps"

    data: dict[str, str] = EMPTY
    #: Base64, as the API sends it.
    binary_data: dict[str, str] = EMPTY
    immutable: bool = False

    def __post_init__(self) -> None:
        freeze(self, "data", "binary_data")


class Secret(KubeObject, frozen=True, kw_only=True):
    """Passwords and keys by name. Its text form leaves them out, so that none gets into a log."""

    KIND: ClassVar[str] = "Secret"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "secrets"

    type: str = ""
    #: Base64, as the API sends it.
    data: dict[str, str] = EMPTY
    immutable: bool = False

    def __post_init__(self) -> None:
        freeze(self, "data")

    def __repr__(self) -> str:
        return f"Secret({self.key!r}, keys={sorted(self.data)})"
