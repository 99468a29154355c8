"""Tokens of ServiceAccounts: issued, recognised, refused."""

from __future__ import annotations

from typing import Any

from tests.unit.apiserver.direct_client import DirectClient

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def _issue(client: DirectClient, **spec: Any) -> tuple[int, Any]:
    return client.request("POST", f"{ACCOUNTS}/robot/token", {"spec": spec})


def test_a_token_is_that_of_its_account_until_it_ends() -> None:
    client = DirectClient()
    client.create("robot", ACCOUNTS)
    status, request = _issue(client, expirationSeconds=600)
    assert status == 201, request
    token = request["status"]["token"]
    user = client.server.tokens.user_of(token)
    assert user is not None
    assert user.name == "system:serviceaccount:default:robot"
    assert "system:serviceaccounts:default" in user.groups
    client.clock.advance(601)
    assert client.server.tokens.user_of(token) is None


def test_a_token_ends_with_its_account_and_is_not_that_of_the_next_one_of_the_name() -> None:
    client = DirectClient()
    client.create("robot", ACCOUNTS)
    token = _issue(client)[1]["status"]["token"]
    client.request("DELETE", f"{ACCOUNTS}/robot")
    assert client.server.tokens.user_of(token) is None
    client.create("robot", ACCOUNTS)
    assert client.server.tokens.user_of(token) is None


def test_a_token_that_was_changed_or_is_another_servers_is_refused() -> None:
    client, other = DirectClient(), DirectClient()
    for each in (client, other):
        each.create("robot", ACCOUNTS)
    token = _issue(client)[1]["status"]["token"]
    assert other.server.tokens.user_of(token) is None
    header, claims, signature = token.split(".")
    for bad in ("", "a.b.c", f"{header}.{claims[:-1]}x.{signature}", f"{header}.{claims}."):
        assert client.server.tokens.user_of(bad) is None


def test_a_token_review_knows_the_account() -> None:
    client = DirectClient()
    client.create("robot", ACCOUNTS)
    token = _issue(client)[1]["status"]["token"]
    _, review = client.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token}})
    assert review["status"]["user"]["username"] == "system:serviceaccount:default:robot"


def test_a_token_of_less_than_ten_minutes_and_one_of_no_account_are_refused() -> None:
    client = DirectClient()
    assert _issue(client)[0] == 404
    client.create("robot", ACCOUNTS)
    status, answer = _issue(client, expirationSeconds=599)
    assert status == 422
    assert "may not specify a duration less than 10 minutes" in answer["message"]
