"""URLs: `url("https://example.com/path").getHost()`."""

from __future__ import annotations

from typing import Any

from bayplan.cel.cel_errors import EvaluationError
from bayplan.cel.checking.cel_types import URL
from bayplan.cel.checking.declarations import Library
from bayplan.cel.functions.url_text import UrlError, UrlParts, parse_url
from bayplan.cel.runtime.cel_values import register


class Url:
    """A URL."""

    __slots__ = ("parts",)

    def __init__(self, parts: UrlParts) -> None:
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Url) and self.parts.text == other.parts.text

    def __hash__(self) -> int:
        return hash((Url, self.parts.text))

    def __str__(self) -> str:
        return self.parts.text


register(Url, URL)


def _url(text: str) -> Url:
    try:
        parse_url(text, of_request=True)
        return Url(parse_url(text, of_request=False))
    except UrlError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


def _is_url(text: str) -> bool:
    try:
        parse_url(text, of_request=True)
    except UrlError:
        return False
    return True


def _query(url: Url) -> dict[Any, Any]:
    return dict(url.parts.query)


def declare_urls() -> Library:
    """Kubernetes' URL library."""
    library = Library()
    add = library.overload
    add("url", "(string) -> url", "string_to_url", _url)
    add("getScheme", "url.() -> string", "url_get_scheme", lambda url: url.parts.scheme)
    add("getHost", "url.() -> string", "url_get_host", lambda url: url.parts.host)
    add("getHostname", "url.() -> string", "url_get_hostname", lambda url: url.parts.hostname)
    add("getPort", "url.() -> string", "url_get_port", lambda url: url.parts.port)
    add("getEscapedPath", "url.() -> string", "url_get_escaped_path", lambda url: url.parts.escaped_path)
    add("getQuery", "url.() -> map(string, list(string))", "url_get_query", _query)
    add("isURL", "(string) -> bool", "is_url_string", _is_url)
    return library
