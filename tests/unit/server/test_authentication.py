"""Authentication: a certificate, a token that the API server reviews, or anonymous."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.client import TransportError
from bayplan.server.authentication import ANONYMOUS, DelegatingAuthenticator, UnauthorizedError, User
from bayplan.testing import VirtualClock

pytestmark = pytest.mark.asyncio

ADMIN = {"username": "admin", "uid": "1", "groups": ["system:masters"], "extra": {"scope": ["a"]}}


class Reviews:
    """Implements `ReviewClient`: knows one token, and counts reviews."""

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.is_reachable = True

    async def request(
        self, method: str, path: str, body: Any = None, *, repeatable: bool | None = None
    ) -> dict[str, Any]:
        self.asked.append((method, path))
        if not self.is_reachable:
            raise TransportError("cut", sent=False)
        known = body["spec"]["token"] == "good"  # noqa: S105
        return {"status": {"authenticated": True, "user": ADMIN} if known else {}}


async def test_requests_without_credentials_are_anonymous() -> None:
    """Without certificate and token the user is anonymous, which is not an error."""
    authenticator = DelegatingAuthenticator(Reviews(), VirtualClock())

    assert await authenticator.authenticate("", None) == ANONYMOUS
    assert await authenticator.authenticate("Basic abc", {}) == ANONYMOUS


async def test_a_certificate_names_its_user() -> None:
    """The common name is the user, organisations are groups; no review is needed."""
    subject = ((("organizationName", "ops"),), (("organizationName", "dev"),), (("commonName", "jane"),))
    reviews = Reviews()

    user = await DelegatingAuthenticator(reviews, VirtualClock()).authenticate("Bearer good", {"subject": subject})

    assert user == User("jane", groups=("ops", "dev", "system:authenticated"))
    assert not reviews.asked


async def test_token_reviews_are_cached() -> None:
    """A review is cached for the time that the flag sets."""
    reviews, clock = Reviews(), VirtualClock()
    authenticator = DelegatingAuthenticator(reviews, clock, ttl_seconds=10)

    for _ in range(3):
        user = await authenticator.authenticate("Bearer good", None)
    assert user.name == "admin"
    assert user.groups == ("system:masters", "system:authenticated")
    assert reviews.asked == [("POST", "/apis/authentication.k8s.io/v1/tokenreviews")]

    clock.advance(11)
    await authenticator.authenticate("bearer good", None)
    assert len(reviews.asked) == 2


async def test_an_unknown_token_is_refused() -> None:
    """It is not treated as anonymous. The refusal is cached as well."""
    reviews = Reviews()
    authenticator = DelegatingAuthenticator(reviews, VirtualClock())

    for _ in range(2):
        with pytest.raises(UnauthorizedError):
            await authenticator.authenticate("Bearer bad", None)

    assert len(reviews.asked) == 1


async def test_a_failed_review_is_not_cached() -> None:
    """While the API server is down, tokens are refused."""
    reviews = Reviews()
    reviews.is_reachable = False
    authenticator = DelegatingAuthenticator(reviews, VirtualClock())
    with pytest.raises(UnauthorizedError):
        await authenticator.authenticate("Bearer good", None)

    reviews.is_reachable = True

    assert (await authenticator.authenticate("Bearer good", None)).name == "admin"


async def test_without_a_cluster_tokens_are_refused() -> None:
    """They cannot be reviewed."""
    with pytest.raises(UnauthorizedError):
        await DelegatingAuthenticator(None, VirtualClock()).authenticate("Bearer good", None)
