"""The client: the only package that talks to an API server.

`load_access` finds the server and our credentials, `HttpTransport` sends requests, `KubeClient` has the calls that
a scheduler needs, `EventBroadcaster` records events, `LeaderElector` decides which replica is active.
"""

from bayplan.client.certificates import Certificate, Pem, Trust
from bayplan.client.errors import (
    AccessError,
    ApiError,
    ClientError,
    ConflictError,
    NotFoundError,
    NotLeadingError,
    ResourceExpiredError,
    TransportError,
)
from bayplan.client.event_broadcaster import EventBroadcaster, EventCounts, Recorder, event_client
from bayplan.client.kube_client import KubeClient
from bayplan.client.kubeconfig import AuthInfo, ClusterAccess, load_access
from bayplan.client.leader_election import ElectionTimes, LeaderElector, Outcome
from bayplan.client.lease_lock import LeaseLock, new_identity
from bayplan.client.transport import JSON, MERGE_PATCH, STRATEGIC_PATCH, USER_AGENT, HttpTransport, Transport

__all__ = [
    "JSON",
    "MERGE_PATCH",
    "STRATEGIC_PATCH",
    "USER_AGENT",
    "AccessError",
    "ApiError",
    "AuthInfo",
    "Certificate",
    "ClientError",
    "ClusterAccess",
    "ConflictError",
    "ElectionTimes",
    "EventBroadcaster",
    "EventCounts",
    "HttpTransport",
    "KubeClient",
    "LeaderElector",
    "LeaseLock",
    "NotFoundError",
    "NotLeadingError",
    "Outcome",
    "Pem",
    "Recorder",
    "ResourceExpiredError",
    "Transport",
    "TransportError",
    "Trust",
    "event_client",
    "load_access",
    "new_identity",
]
