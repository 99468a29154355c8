"""String formats that schemas of custom resources may require."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from typing import Final
from urllib.parse import urlparse

from bayplan.apiserver.codec.mismatch import MalformedValueError
from bayplan.apiserver.codec.values import time
from bayplan.apiserver.validation.name_validation import label_errors, subdomain_errors

_UUID: Final = r"[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_PATTERNS: Final = {
    "uuid": _UUID % ("[0-9a-f]", "[0-9a-f]"),
    "uuid3": _UUID % ("3", "[0-9a-f]"),
    "uuid4": _UUID % ("4", "[89ab]"),
    "uuid5": _UUID % ("5", "[89ab]"),
    "date": r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])",
    "duration": r"(\d+(\.\d+)?\s*(ns|us|µs|ms|s|m|h|d|w|[a-z]+)\s*)+",
    "email": r"[^@\s]+@[^@\s]+",
    "hostname": r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\.?",
    "mac": r"([0-9a-f]{2}[:-]){5}[0-9a-f]{2}",
    "hexcolor": r"#?([0-9a-f]{3}|[0-9a-f]{6})",
}


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            parse(text)
        except (ValueError, MalformedValueError, binascii.Error):
            return False
        return True

    return fits


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.IGNORECASE | re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    **{name: _matches(pattern) for name, pattern in _PATTERNS.items()},
    "date-time": _parses(time),
    "datetime": _parses(time),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": lambda text: "/" in text and _parses(ipaddress.ip_interface)(text),
    "byte": _parses(lambda text: base64.b64decode(text, validate=True)),
    "uri": lambda text: bool(urlparse(text).scheme or text.startswith("/")),
    "k8s-short-name": lambda text: not label_errors(text),
    "k8s-long-name": lambda text: not subdomain_errors(text, prefix=False),
}
#: Known formats that any text or number satisfies.
_UNCHECKED: Final = {"bsonobjectid", "creditcard", "double", "float", "int32", "int64"} | {
    "isbn",
    "isbn10",
    "isbn13",
    "password",
    "rgbcolor",
    "ssn",
}
RECOGNIZED: Final = frozenset({*_CHECKS, *_UNCHECKED})


def fits_format(text: str, format_: str) -> bool:
    """Whether a text has the format; an unknown format accepts every text."""
    check = _CHECKS.get(format_)
    return check is None or check(text)
