"""What somebody may see: the API server decides, but for the paths and groups that always may."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from bayplan.client.errors import ClientError
from bayplan.framework import Clock
from bayplan.observe import klog
from bayplan.server.authentication import ReviewClient, User
from bayplan.server.remembered import Remembered

log = klog.get_logger("bayplan.server")

ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
ALWAYS_ALLOWED_PATHS: Final = ("/healthz", "/readyz", "/livez")
#: They may do everything anywhere; asking would be a request that cannot be refused.
ALWAYS_ALLOWED_GROUPS: Final = frozenset({"system:masters"})


class Access(NamedTuple):
    allowed: bool
    reason: str = ""


class AuthorizationError(Exception):
    """It cannot be found out."""


class Authorizer:
    """See the module's text."""

    def __init__(
        self,
        client: ReviewClient | None,
        clock: Clock,
        *,
        allowed_ttl_seconds: float = 10.0,
        denied_ttl_seconds: float = 10.0,
        always_allowed_paths: Sequence[str] = ALWAYS_ALLOWED_PATHS,
    ) -> None:
        """Without *client* only what is always allowed is."""
        self._client = client
        self._clock = clock
        self._allowed_ttl = allowed_ttl_seconds
        self._denied_ttl = denied_ttl_seconds
        self._paths = frozenset(path for path in always_allowed_paths if not path.endswith("*"))
        self._prefixes = tuple(path[:-1] for path in always_allowed_paths if path.endswith("*"))
        self._reviews: Remembered[Access] = Remembered()

    async def authorize(self, user: User, verb: str, path: str) -> Access:
        """Raises AuthorizationError where the API server does not answer."""
        if path in self._paths or path.startswith(self._prefixes) or ALWAYS_ALLOWED_GROUPS & set(user.groups):
            return Access(allowed=True)
        key = (user.key(), verb, path)
        now = self._clock.monotonic()
        known = self._reviews.get(key, now)
        if known is None:
            known = await self._ask(user, verb, path)
            ttl = self._allowed_ttl if known.allowed else self._denied_ttl
            if ttl > 0:
                self._reviews.put(key, known, until=now + ttl)
        return known

    async def _ask(self, user: User, verb: str, path: str) -> Access:
        if self._client is None:
            return Access(allowed=False)
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": user.name,
                "uid": user.uid,
                "groups": list(user.groups),
                "extra": {key: list(values) for key, values in user.extra.items()},
                "nonResourceAttributes": {"path": path, "verb": verb},
            },
        }
        try:
            answer = await self._client.request("POST", ACCESS_REVIEWS, review, repeatable=True)
        except ClientError as error:
            log.error(error, "Unable to authorize the request", path=path)
            raise AuthorizationError(str(error)) from error
        status = answer.get("status") or {}
        return Access(bool(status.get("allowed")), status.get("reason") or "")
