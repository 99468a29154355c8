"""The client: how the scheduler speaks to an API server. The only package that does.

`load_access` finds the server and who we are, `Transport` carries requests, `KubeClient` says what a scheduler has
to say, `EventBroadcaster` tells what happened, `LeaderElector` decides which replica acts.
"""

from bayplan.client.api import KubeClient
from bayplan.client.errors import (
    AccessError,
    ApiError,
    ClientError,
    ConflictError,
    ExpiredError,
    NotFoundError,
    NotLeadingError,
    TransportError,
)
from bayplan.client.events import EventBroadcaster, EventCounts, Recorder, event_client
from bayplan.client.kubeconfig import ClusterAccess, Identity, load_access
from bayplan.client.lease import Callbacks, ElectionTimes, LeaderElector, Outcome
from bayplan.client.lease_lock import LeaseLock, new_identity
from bayplan.client.tls import Certificate, Pem, Trust
from bayplan.client.transport import JSON, MERGE_PATCH, STRATEGIC_PATCH, USER_AGENT, Transport

__all__ = [
    "JSON",
    "MERGE_PATCH",
    "STRATEGIC_PATCH",
    "USER_AGENT",
    "AccessError",
    "ApiError",
    "Callbacks",
    "Certificate",
    "ClientError",
    "ClusterAccess",
    "ConflictError",
    "ElectionTimes",
    "EventBroadcaster",
    "EventCounts",
    "ExpiredError",
    "Identity",
    "KubeClient",
    "LeaderElector",
    "LeaseLock",
    "NotFoundError",
    "NotLeadingError",
    "Outcome",
    "Pem",
    "Recorder",
    "Transport",
    "TransportError",
    "Trust",
    "event_client",
    "load_access",
    "new_identity",
]
