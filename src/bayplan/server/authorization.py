"""Authorization: the API server decides, except for paths and groups that are always allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from bayplan.client.errors import ClientError
from bayplan.framework import Clock
from bayplan.observe import klog
from bayplan.server.authentication import ReviewClient, User
from bayplan.server.expiring_cache import ExpiringCache

log = klog.get_logger("bayplan.server")

ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
ALWAYS_ALLOWED_PATHS: Final = ("/healthz", "/readyz", "/livez")
#: system:masters may do everything: no review is needed.
ALWAYS_ALLOWED_GROUPS: Final = frozenset({"system:masters"})


class AccessDecision(NamedTuple):
    allowed: bool
    reason: str = ""


class AuthorizationError(Exception):
    """The API server did not decide."""


class DelegatingAuthorizer:
    """See the module docstring."""

    def __init__(
        self,
        client: ReviewClient | None,
        clock: Clock,
        *,
        allowed_ttl_seconds: float = 10.0,
        denied_ttl_seconds: float = 10.0,
        always_allowed_paths: Sequence[str] = ALWAYS_ALLOWED_PATHS,
    ) -> None:
        """Without *client*, only what is always allowed is."""
        self._client = client
        self._clock = clock
        self._allowed_ttl = allowed_ttl_seconds
        self._denied_ttl = denied_ttl_seconds
        self._paths = frozenset(path for path in always_allowed_paths if not path.endswith("*"))
        self._prefixes = tuple(path[:-1] for path in always_allowed_paths if path.endswith("*"))
        self._reviews: ExpiringCache[AccessDecision] = ExpiringCache()

    async def authorize(self, user: User, verb: str, path: str) -> AccessDecision:
        """Raises AuthorizationError if the API server does not respond."""
        if path in self._paths or path.startswith(self._prefixes) or ALWAYS_ALLOWED_GROUPS & set(user.groups):
            return AccessDecision(allowed=True)
        return await self._reviewed(user, {"nonResourceAttributes": {"path": path, "verb": verb}})

    async def authorize_resource(self, user: User, verb: str, resource: str, namespace: str) -> AccessDecision:
        """Whether *user* may do this with a resource of the core API. Raises AuthorizationError."""
        if ALWAYS_ALLOWED_GROUPS & set(user.groups):
            return AccessDecision(allowed=True)
        attributes = {"verb": verb, "resource": resource, "version": "v1", "namespace": namespace}
        return await self._reviewed(user, {"resourceAttributes": attributes})

    async def _reviewed(self, user: User, attributes: Mapping[str, Mapping[str, str]]) -> AccessDecision:
        what = tuple((kind, tuple(values.items())) for kind, values in attributes.items())
        key = (user.key(), what)
        now = self._clock.monotonic()
        known = self._reviews.get(key, now)
        if known is None:
            known = await self._request_review(user, attributes)
            ttl = self._allowed_ttl if known.allowed else self._denied_ttl
            if ttl > 0:
                self._reviews.put(key, known, until=now + ttl)
        return known

    async def _request_review(self, user: User, attributes: Mapping[str, Mapping[str, str]]) -> AccessDecision:
        if self._client is None:
            return AccessDecision(allowed=False)
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": user.name,
                "uid": user.uid,
                "groups": list(user.groups),
                "extra": {key: list(values) for key, values in user.extra.items()},
                **attributes,
            },
        }
        try:
            response = await self._client.request("POST", ACCESS_REVIEWS, review, repeatable=True)
        except ClientError as error:
            log.error(error, "Unable to authorize the request", attributes=dict(attributes))
            raise AuthorizationError(str(error)) from error
        status = response.get("status") or {}
        return AccessDecision(bool(status.get("allowed")), status.get("reason") or "")
