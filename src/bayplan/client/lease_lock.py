"""The Lease that the replicas of a scheduler use as a lock, to agree on a leader."""

from __future__ import annotations

import logging
import socket
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from bayplan.client.errors import ClientError
from bayplan.model import format_time

if TYPE_CHECKING:
    from bayplan.framework import Clock

logger = logging.getLogger("bayplan.client")


@dataclass(frozen=True, slots=True)
class ElectionRecord:
    """The content of a Lease. Times are text: they come from other clocks, so they are never compared."""

    holder: str = ""
    lease_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    transitions: int = 0


class Lock(Protocol):
    """Stores the record. Calls raise ClientError; `get` raises NotFoundError if there is none."""

    @property
    def identity(self) -> str: ...

    async def get(self) -> ElectionRecord: ...

    async def create(self, record: ElectionRecord) -> None: ...

    async def update(self, record: ElectionRecord) -> None:
        """Replace the record that was last read; ConflictError if it has changed since."""

    async def record_event(self, text: str) -> None: ...

    def __str__(self) -> str: ...


class LeaseClient(Protocol):
    """The methods of `KubeClient` that the lock uses."""

    async def get_lease(self, namespace: str, name: str) -> dict[str, Any]: ...

    async def create_lease(self, namespace: str, lease: object) -> dict[str, Any]: ...

    async def update_lease(self, namespace: str, name: str, lease: object) -> dict[str, Any]: ...

    async def create_core_event(self, namespace: str, event: object) -> None: ...


def new_identity() -> str:
    """The host's name and a random part, which tells processes on one host apart."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class LeaseLock:
    """Implements `Lock` with a Lease of the API server."""

    def __init__(
        self,
        client: LeaseClient,
        clock: Clock,
        *,
        namespace: str,
        name: str,
        identity: str,
        component: str = "default-scheduler",
    ) -> None:
        self._client = client
        self._clock = clock
        self._namespace = namespace
        self._name = name
        self._identity = identity
        #: The source of events: the name of the first profile.
        self._component = component
        #: The Lease as last read or written, with labels, annotations and resourceVersion.
        self._lease: dict[str, Any] = {}

    @property
    def identity(self) -> str:
        return self._identity

    def __str__(self) -> str:
        return f"{self._namespace}/{self._name}"

    async def get(self) -> ElectionRecord:
        self._lease = await self._client.get_lease(self._namespace, self._name)
        return _parse_record(self._lease.get("spec") or {})

    async def create(self, record: ElectionRecord) -> None:
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": _lease_spec(record),
        }
        self._lease = await self._client.create_lease(self._namespace, lease)

    async def update(self, record: ElectionRecord) -> None:
        lease = {**self._lease, "spec": _lease_spec(record)}
        self._lease = await self._client.update_lease(self._namespace, self._name, lease)

    async def record_event(self, text: str) -> None:
        """Create a core event about the Lease, as kube-scheduler does; it is dropped if that fails."""
        event = leader_event(self._lease, f"{self._identity} {text}", self._component, self._clock.now())
        try:
            await self._client.create_core_event(self._namespace, event)
        except ClientError as error:
            logger.error("Event about the lease %s not written: %s", self, error)


def leader_event(lease: dict[str, Any], message: str, component: str, now: float) -> dict[str, Any]:
    meta = lease.get("metadata") or {}
    time = format_time(datetime.fromtimestamp(now, UTC))
    fields = ("name", "namespace", "uid", "resourceVersion")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{meta.get('name')}.{round(now * 1e9):x}", "namespace": meta.get("namespace")},
        "involvedObject": {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            **{field: meta[field] for field in fields if meta.get(field)},
        },
        "reason": "LeaderElection",
        "message": message,
        "source": {"component": component},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
        "type": "Normal",
        "reportingComponent": component,
        "reportingInstance": "",
    }


def _parse_record(spec: dict[str, Any]) -> ElectionRecord:
    return ElectionRecord(
        spec.get("holderIdentity") or "",
        spec.get("leaseDurationSeconds") or 0,
        spec.get("acquireTime") or "",
        spec.get("renewTime") or "",
        spec.get("leaseTransitions") or 0,
    )


def _lease_spec(record: ElectionRecord) -> dict[str, Any]:
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.lease_seconds,
        "acquireTime": record.acquire_time or None,
        "renewTime": record.renew_time or None,
        "leaseTransitions": record.transitions,
    }
