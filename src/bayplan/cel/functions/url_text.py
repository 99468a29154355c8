"""URLs as Go's net/url takes them apart, with its messages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bayplan.cel.functions.ip_text import AddressError, parse_address
from bayplan.cel.functions.quoting import go_quote

_UNRESERVED = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~")
#: Bytes that stand for themselves in a path, and in a host.
_PATH = _UNRESERVED | frozenset(b"$&+,/:;=@")
_HOST = _UNRESERVED | frozenset(b"!$&'()*+,;=:[]<>\"")
_VALID_PATH = _PATH | frozenset(b"!'()*[]%")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_PORT = re.compile(r"(?::[0-9]*)?")
_ESCAPE = re.compile(rb"%([0-9a-fA-F]{2})")
_USER_INFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")


class UrlError(ValueError):
    """A text that is no URL."""


@dataclass(frozen=True, slots=True)
class UrlParts:
    """The parts of a URL."""

    scheme: str = ""
    host: str = ""
    raw_path: str = ""
    raw_query: str = ""
    text: str = field(default="", compare=False)

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        host = self.host
        if host.startswith("["):
            return host[1:].partition("]")[0]
        return host.partition(":")[0] if host.count(":") == 1 else host

    @property
    def port(self) -> str:
        """The port, or nothing."""
        if self.host.startswith("["):
            return self.host.partition("]")[2].removeprefix(":")
        return self.host.rpartition(":")[2] if ":" in self.host else ""

    @property
    def escaped_path(self) -> str:
        """The path as it was written, if that is valid, or escaped anew."""
        if _VALID_PATH.issuperset(self.raw_path.encode(errors="surrogatepass")):
            return self.raw_path
        return "".join(chr(byte) if byte in _PATH else f"%{byte:02X}" for byte in _decoded(self.raw_path))

    @property
    def query(self) -> dict[str, list[str]]:
        """The parameters; what cannot be read is left out."""
        values: dict[str, list[str]] = {}
        for part in self.raw_query.split("&"):
            key, _, value = part.partition("=")
            if not part or ";" in part or _bad_escape(key) or _bad_escape(value):
                continue
            values.setdefault(_query_text(key), []).append(_query_text(value))
        return values


def _decoded(text: str) -> bytes:
    return _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), text.encode(errors="surrogatepass"))


def _query_text(text: str) -> str:
    return _decoded(text.replace("+", " ")).decode(errors="replace")


def _bad_escape(text: str) -> str:
    """The first escape that is none, as far as it is shown."""
    for found in re.finditer("%", text):
        part = text[found.start() : found.start() + 3]
        if not re.fullmatch("%[0-9a-fA-F]{2}", part):
            return part
    return ""


def parse_url(text: str, *, of_request: bool) -> UrlParts:
    """A URL; one of a request is absolute or a path. Raises UrlError."""
    try:
        return _parse(text, of_request=of_request)
    except UrlError as error:
        raise UrlError(f"parse {go_quote(text)}: {error}") from None


def _parse(text: str, *, of_request: bool) -> UrlParts:
    whole = text
    if not of_request:
        text = _without_fragment(text)
    if any(char < " " or char == "\x7f" for char in text):
        raise UrlError("net/url: invalid control character in URL")
    if not text and of_request:
        raise UrlError("empty url")
    if text == "*":
        return UrlParts(raw_path="*", text=whole)
    scheme, rest = _split_scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return UrlParts(scheme, raw_query=query, text=whole)
        if of_request:
            raise UrlError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    host = ""
    if (scheme or (not of_request and not rest.startswith("///"))) and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        host = _host_of(scheme, authority)
    _check_escapes(rest)
    return UrlParts(scheme, host, rest, query, whole)


def _without_fragment(text: str) -> str:
    head, _, fragment = text.partition("#")
    _check_escapes(fragment)
    return head


def _check_escapes(text: str) -> None:
    bad = _bad_escape(text)
    if bad:
        raise UrlError(f"invalid URL escape {go_quote(bad)}")


def _split_scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    found = _SCHEME.match(text)
    return (found[1].lower(), text[found.end() :]) if found else ("", text)


def _host_of(scheme: str, authority: str) -> str:
    user_info, at, host_text = authority.rpartition("@")
    host = _host(scheme, host_text)
    if at:
        if not _USER_INFO.fullmatch(user_info):
            raise UrlError("net/url: invalid userinfo")
        _check_escapes(user_info)
    return host


def _host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
    if bracket == 0:
        return _bracketed_host(host)
    if ":" in host:
        strict = scheme in ("http", "https")
        colon = host.index(":") if strict else host.rindex(":")
        _check_port(host[colon:])
    return _host_text(host)


def _bracketed_host(host: str) -> str:
    end = host.rfind("]")
    if end < 0:
        raise UrlError("missing ']' in host")
    _check_port(host[end + 1 :])
    name = _host_text(host[1:end])
    try:
        address, _ = parse_address(name)
    except AddressError as error:
        raise UrlError(f"invalid host: {error}") from None
    if address.version == 4:
        raise UrlError("invalid IP-literal")
    return f"[{name}]{host[end + 1 :]}"


def _check_port(text: str) -> None:
    if not _PORT.fullmatch(text):
        raise UrlError(f"invalid port {go_quote(text)} after host")


def _host_text(host: str) -> str:
    """The host with its escapes decoded; only those of bytes beyond ASCII are allowed."""
    for index, char in enumerate(host):
        if char == "%":
            part = host[index : index + 3]
            if not re.fullmatch("%[0-9a-fA-F]{2}", part) or (part[1] in "01234567" and part != "%25"):
                raise UrlError(f"invalid URL escape {go_quote(part)}")
        elif char < "\x80" and ord(char) not in _HOST:
            raise UrlError(f"invalid character {go_quote(char)} in host name")
    return _decoded(host).decode(errors="replace")
