"""What an answer that is no success becomes."""

import msgspec
import pytest

from bayplan.client.errors import ApiError, ConflictError, NotFoundError, ResourceExpiredError, api_error


@pytest.mark.parametrize(
    ("status", "kind"), [(404, NotFoundError), (409, ConflictError), (410, ResourceExpiredError), (403, ApiError)]
)
def test_status_decides_the_kind(status: int, kind: type[ApiError]) -> None:
    body = {"kind": "Status", "reason": "Because", "message": "the server's words", "details": {"name": "p"}}
    error = api_error(status, msgspec.json.encode(body))
    assert type(error) is kind
    assert (error.status, error.reason, str(error), error.details) == (
        status,
        "Because",
        "the server's words",
        {"name": "p"},
    )


def test_a_proxys_page_is_quoted() -> None:
    error = api_error(502, b"<html>bad gateway</html>")
    assert str(error) == "the server answered 502 Bad Gateway: <html>bad gateway</html>"


def test_an_empty_answer_has_a_text() -> None:
    assert str(api_error(503, b"")) == "the server answered 503 Service Unavailable"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(b"3", 3.0), (b"100000", 60.0), (b"Fri, 31 Dec 1999 23:59:59 GMT", None), (b"-1", None)],
)
def test_retry_after_header(header: bytes, seconds: float | None) -> None:
    assert api_error(429, b"{}", [(b"Retry-After", header)]).retry_after == seconds


def test_retry_after_in_the_details() -> None:
    assert api_error(500, b'{"details":{"retryAfterSeconds":2}}').retry_after == 2.0


def test_a_version_from_the_future_is_expired() -> None:
    body = b'{"message":"x","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}'
    assert isinstance(api_error(504, body), ResourceExpiredError)
    assert isinstance(
        api_error(504, b'{"message":"Too large resource version: 9, current: 3"}'), ResourceExpiredError
    )
