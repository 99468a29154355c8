"""IP addresses as Go's netip reads and writes them, with its messages."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address

from bayplan.cel.functions.quoting import go_quote

Address = IPv4Address | IPv6Address
_HEX = re.compile(r"[0-9a-fA-F]*")


class AddressError(ValueError):
    """A text that is no address or prefix."""


def parse_address(text: str) -> tuple[Address, str]:
    """An address and its zone. Raises AddressError."""
    for char in text:
        if char == ".":
            return IPv4Address(bytes(_octets(text, text))), ""
        if char == ":":
            return _parse_ipv6(text)
        if char == "%":
            raise _failure(text, "missing IPv6 address")
    raise _failure(text, "unable to parse IP")


def _failure(text: str, message: str, at: str = "") -> AddressError:
    place = f" (at {go_quote(at)})" if at else ""
    return AddressError(f"ParseAddr({go_quote(text)}): {message}{place}")


def _octets(whole: str, text: str) -> list[int]:
    """The four numbers of an IPv4 address."""
    octets: list[int] = []
    digits = ""
    for index, char in enumerate(text):
        if char in "0123456789":
            if digits == "0":
                raise _failure(whole, "IPv4 field has octet with leading zero")
            digits += char
            if int(digits) > 255:
                raise _failure(whole, "IPv4 field has value >255")
        elif char == ".":
            if index == 0 or index == len(text) - 1 or text[index - 1] == ".":
                raise _failure(whole, "IPv4 field must have at least one digit", text[index:])
            if len(octets) == 3:
                raise _failure(whole, "IPv4 address too long")
            octets.append(int(digits))
            digits = ""
        else:
            raise _failure(whole, "unexpected character", text[index:])
    if len(octets) < 3:
        raise _failure(whole, "IPv4 address too short")
    return [*octets, int(digits or "0")]


def _parse_ipv6(text: str) -> tuple[IPv6Address, str]:
    body, percent, zone = text.partition("%")
    if percent and not zone:
        raise _failure(text, "zone must be a non-empty string")
    return IPv6Address(bytes(_Ipv6Reader(text, body).read())), zone


class _Ipv6Reader:
    """Reads the groups of an IPv6 address into bytes."""

    def __init__(self, whole: str, body: str) -> None:
        self._whole = whole
        self._rest = body
        self._octets: list[int] = []
        #: How many bytes are before `::`, or -1.
        self._gap = -1

    def read(self) -> list[int]:
        if self._rest.startswith("::"):
            self._gap = 0
            self._rest = self._rest[2:]
        while self._rest and len(self._octets) < 16:
            if not self._read_group():
                break
        if self._rest:
            raise _failure(self._whole, "trailing garbage after address", self._rest)
        return self._filled()

    def _filled(self) -> list[int]:
        missing = 16 - len(self._octets)
        if missing and self._gap < 0:
            raise _failure(self._whole, "address string too short")
        if not missing and self._gap >= 0:
            raise _failure(self._whole, "the :: must expand to at least one field of zeros")
        gap = max(self._gap, 0)
        return [*self._octets[:gap], *[0] * missing, *self._octets[gap:]]

    def _read_group(self) -> bool:
        """One group and the colon after it; False at the end."""
        rest = self._rest
        found = _HEX.match(rest)
        digits = found[0] if found else ""
        if len(digits) > 4:
            raise _failure(self._whole, "each group must have 4 or less digits", rest)
        if not digits:
            raise _failure(self._whole, "each colon-separated field must have at least one digit", rest)
        if rest[len(digits) : len(digits) + 1] == ".":
            self._read_ipv4(rest)
            return False
        self._octets += divmod(int(digits, 16), 256)
        self._rest = rest[len(digits) :]
        return bool(self._rest) and self._read_colons()

    def _read_ipv4(self, rest: str) -> None:
        if self._gap < 0 and len(self._octets) != 12:
            message = "embedded IPv4 address must replace the final 2 fields of the address"
            raise _failure(self._whole, message, rest)
        if len(self._octets) + 4 > 16:
            message = "too many hex fields to fit an embedded IPv4 at the end of the address"
            raise _failure(self._whole, message, rest)
        self._octets += _octets(self._whole, rest)
        self._rest = ""

    def _read_colons(self) -> bool:
        rest = self._rest
        if rest[0] != ":":
            raise _failure(self._whole, "unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _failure(self._whole, "colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if self._gap >= 0:
                raise _failure(self._whole, "multiple :: in address", rest)
            self._gap = len(self._octets)
            rest = rest[1:]
        self._rest = rest
        return bool(rest)


def parse_prefix(text: str) -> tuple[Address, int]:
    """An address and the length of its prefix. Raises AddressError."""
    head, slash, bits_text = text.rpartition("/")
    if not slash:
        raise _prefix_failure(text, "no '/'")
    try:
        address, zone = parse_address(head)
    except AddressError as error:
        raise _prefix_failure(text, str(error)) from None
    if zone:
        raise _prefix_failure(text, "IPv6 zones cannot be present in a prefix")
    if not re.fullmatch(r"[0-9]|[1-9][0-9]{0,17}", bits_text):
        raise _prefix_failure(text, f"bad bits after slash: {go_quote(bits_text)}")
    if int(bits_text) > address.max_prefixlen:
        raise _prefix_failure(text, "prefix length out of range")
    return address, int(bits_text)


def _prefix_failure(text: str, message: str) -> AddressError:
    return AddressError(f"netip.ParsePrefix({go_quote(text)}): {message}")


def address_text(address: Address) -> str:
    """An address in the usual short form."""
    return str(address)
