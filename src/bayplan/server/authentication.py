"""Authentication: client certificates, bearer tokens that the API server reviews, or anonymous."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from bayplan.client.errors import ClientError
from bayplan.framework import Clock
from bayplan.observe import klog
from bayplan.server.expiring_cache import ExpiringCache

log = klog.get_logger("bayplan.server")

REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
AUTHENTICATED: Final = "system:authenticated"


class ReviewClient(Protocol):
    """What reviews need from `KubeClient`."""

    async def request(
        self, method: str, path: str, body: object | None = None, *, repeatable: bool | None = None
    ) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class User:
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def key(self) -> tuple[object, ...]:
        return (
            self.name,
            self.uid,
            self.groups,
            tuple((key, tuple(self.extra[key])) for key in sorted(self.extra)),
        )


ANONYMOUS: Final = User("system:anonymous", groups=("system:unauthenticated",))


class UnauthorizedError(Exception):
    """The credentials are not valid."""


class DelegatingAuthenticator:
    """See the module docstring."""

    def __init__(self, client: ReviewClient | None, clock: Clock, *, ttl_seconds: float = 10.0) -> None:
        """Without *client*, tokens cannot be reviewed and all are refused."""
        self._client = client
        self._clock = clock
        self._ttl = ttl_seconds
        #: None: the token is invalid.
        self._reviews: ExpiringCache[User | UnauthorizedError] = ExpiringCache()

    async def authenticate(self, authorization: str, certificate: Mapping[str, Any] | None) -> User:
        """*authorization* is the header, *certificate* the verified one of TLS. Raises UnauthorizedError."""
        if certificate and (user := user_of_certificate(certificate)) is not None:
            return user
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        return await self._review(token.strip())

    async def _review(self, token: str) -> User:
        key = hashlib.sha256(token.encode()).digest()  # tokens are not stored
        now = self._clock.monotonic()
        known = self._reviews.get(key, now)
        if known is None:
            known = await self._request_review(token)
            if self._ttl > 0:
                self._reviews.put(key, known, until=now + self._ttl)
        if isinstance(known, UnauthorizedError):
            raise known
        return known

    async def _request_review(self, token: str) -> User | UnauthorizedError:
        if self._client is None:
            raise UnauthorizedError("tokens cannot be reviewed")
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        }
        try:
            response = await self._client.request("POST", REVIEWS, review, repeatable=True)
        except ClientError as error:
            log.error(error, "Unable to authenticate the request")
            raise UnauthorizedError("the token cannot be reviewed now") from error
        status = response.get("status") or {}
        if not status.get("authenticated"):
            return UnauthorizedError("unknown token")
        user = status.get("user") or {}
        groups = tuple(user.get("groups") or ())
        if AUTHENTICATED not in groups:
            groups = (*groups, AUTHENTICATED)
        return User(user.get("username") or "", user.get("uid") or "", groups, user.get("extra") or {})


def user_of_certificate(certificate: Mapping[str, Any]) -> User | None:
    """The user that a verified certificate is for: its common name, with its organisations as groups."""
    names = [pair for part in certificate.get("subject", ()) for pair in part]
    common = [value for key, value in names if key == "commonName"]
    if not common or not common[-1]:
        return None
    groups = [value for key, value in names if key == "organizationName"]
    return User(common[-1], groups=(*groups, AUTHENTICATED))
