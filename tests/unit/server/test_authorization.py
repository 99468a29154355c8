"""Authorization: some paths are public, some groups may do everything, the API server decides on the rest."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.client import TransportError
from bayplan.server.authentication import ANONYMOUS, User
from bayplan.server.authorization import AccessDecision, AuthorizationError, DelegatingAuthorizer
from bayplan.testing import VirtualClock

pytestmark = pytest.mark.asyncio

JANE = User("jane", "7", ("ops",), {"scope": ["a"]})


class Reviews:
    """Implements `ReviewClient`: jane may see /metrics."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.is_reachable = True

    async def request(
        self, method: str, path: str, body: Any = None, *, repeatable: bool | None = None
    ) -> dict[str, Any]:
        if not self.is_reachable:
            raise TransportError("cut", sent=False)
        assert (method, path) == ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews")
        self.asked.append(body["spec"])
        attributes = body["spec"]["nonResourceAttributes"]
        allowed = body["spec"]["user"] == "jane" and attributes == {"path": "/metrics", "verb": "get"}
        return {"status": {"allowed": allowed, "reason": "" if allowed else "RBAC says no"}}


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez", "/open/door"])
async def test_some_paths_are_public(path: str) -> None:
    """Probes come without credentials; a star at the end matches everything below."""
    reviews = Reviews()
    paths = ("/healthz", "/readyz", "/livez", "/open/*")

    access = await DelegatingAuthorizer(reviews, VirtualClock(), always_allowed_paths=paths).authorize(
        ANONYMOUS, "get", path
    )

    assert access.allowed
    assert not reviews.asked


async def test_a_single_check_is_not_public() -> None:
    """It shows why it fails."""
    assert not (
        await DelegatingAuthorizer(Reviews(), VirtualClock()).authorize(ANONYMOUS, "get", "/readyz/shutdown")
    ).allowed


async def test_masters_may_always() -> None:
    """Even if the API server is down."""
    admin = User("admin", groups=("system:masters",))

    assert (await DelegatingAuthorizer(None, VirtualClock()).authorize(admin, "get", "/metrics")).allowed


async def test_the_api_server_decides_about_the_rest() -> None:
    """The review contains everything that is known about the user."""
    reviews = Reviews()

    access = await DelegatingAuthorizer(reviews, VirtualClock()).authorize(JANE, "get", "/metrics")

    assert access == AccessDecision(allowed=True)
    assert reviews.asked == [
        {
            "user": "jane",
            "uid": "7",
            "groups": ["ops"],
            "extra": {"scope": ["a"]},
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        }
    ]


async def test_reviews_are_cached() -> None:
    """Allowed and denied results have separate TTLs; other users and paths are separate entries."""
    reviews, clock = Reviews(), VirtualClock()
    authorizer = DelegatingAuthorizer(reviews, clock, allowed_ttl_seconds=10, denied_ttl_seconds=5)
    for _ in range(2):
        assert (await authorizer.authorize(JANE, "get", "/metrics")).allowed
        assert (await authorizer.authorize(ANONYMOUS, "get", "/metrics")).reason == "RBAC says no"
    assert len(reviews.asked) == 2

    clock.advance(6)
    await authorizer.authorize(JANE, "get", "/metrics")
    await authorizer.authorize(ANONYMOUS, "get", "/metrics")

    assert len(reviews.asked) == 3


async def test_a_failed_review_is_an_error() -> None:
    """It is not treated as a denial, and not cached."""
    reviews = Reviews()
    reviews.is_reachable = False
    authorizer = DelegatingAuthorizer(reviews, VirtualClock())
    with pytest.raises(AuthorizationError):
        await authorizer.authorize(JANE, "get", "/metrics")

    reviews.is_reachable = True

    assert (await authorizer.authorize(JANE, "get", "/metrics")).allowed
