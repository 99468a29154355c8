"""IP addresses and networks: `ip("10.0.0.1")`, `cidr("10.0.0.0/8").containsIP(...)`."""

from __future__ import annotations

from typing import Any

from bayplan.cel.cel_errors import EvaluationError, no_such_overload
from bayplan.cel.checking.cel_types import CIDR, IP
from bayplan.cel.checking.declarations import Library
from bayplan.cel.functions.ip_text import Address, AddressError, address_text, parse_address, parse_prefix
from bayplan.cel.functions.quoting import go_quote
from bayplan.cel.runtime.cel_values import register


class IpAddress:
    """An address."""

    __slots__ = ("address",)

    def __init__(self, address: Address) -> None:
        self.address = address

    @property
    def cel_size(self) -> int:
        """What it counts for in costs: its bytes."""
        return self.address.max_prefixlen // 8

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IpAddress) and self.address == other.address

    def __hash__(self) -> int:
        return hash((IpAddress, self.address))

    def __str__(self) -> str:
        return address_text(self.address)


class Cidr:
    """A network, with the address that it was written with."""

    __slots__ = ("address", "bits")

    def __init__(self, address: Address, bits: int) -> None:
        self.address = address
        self.bits = bits

    @property
    def cel_size(self) -> int:
        """What it counts for in costs: the bytes of its prefix."""
        return -(-self.bits // 8)

    def prefix_of(self, address: Address) -> int:
        """The bits of an address that this network looks at."""
        return int(address) >> (address.max_prefixlen - self.bits)

    def contains(self, address: Address) -> bool:
        """Whether an address is in the network."""
        same_family = address.version == self.address.version
        return same_family and self.prefix_of(address) == self.prefix_of(self.address)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cidr) and (self.address, self.bits) == (other.address, other.bits)

    def __hash__(self) -> int:
        return hash((Cidr, self.address, self.bits))

    def __str__(self) -> str:
        return f"{address_text(self.address)}/{self.bits}"


register(IpAddress, IP)
register(Cidr, CIDR)


def _is_mapped(address: Address) -> bool:
    return address.version == 6 and address.ipv4_mapped is not None


def _ip(text: str) -> IpAddress:
    try:
        address, zone = parse_address(text)
    except AddressError as error:
        raise EvaluationError(
            f"IP Address {go_quote(text)} parse error during conversion from string: {error}"
        ) from None
    if zone:
        raise EvaluationError(f"IP address {go_quote(text)} with zone value is not allowed")
    if _is_mapped(address):
        raise EvaluationError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return IpAddress(address)


def _cidr(text: str) -> Cidr:
    prefix = "network address parse error during conversion from string: "
    try:
        address, bits = parse_prefix(text)
    except AddressError as error:
        raise EvaluationError(f"{prefix}{prefix}{error}") from None
    if _is_mapped(address):
        raise EvaluationError(f"{prefix}IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return Cidr(address, bits)


def _is(parse: Any) -> Any:
    def test(text: str) -> bool:
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return test


def _is_canonical(text: str) -> bool:
    return str(_ip(text)) == text


def _is_link_local_multicast(ip: IpAddress) -> bool:
    packed = ip.address.packed
    if ip.address.version == 4:
        return packed[:3] == b"\xe0\x00\x00"
    return packed[0] == 0xFF and packed[1] & 0x0F == 0x02


def _is_link_local_unicast(ip: IpAddress) -> bool:
    packed = ip.address.packed
    if ip.address.version == 4:
        return packed[:2] == b"\xa9\xfe"
    return packed[0] == 0xFE and packed[1] & 0xC0 == 0x80


def _is_global_unicast(ip: IpAddress) -> bool:
    address = ip.address
    if str(address) in ("0.0.0.0", "255.255.255.255"):  # noqa: S104 - compared, not bound
        return False
    special = address.is_unspecified or address.is_loopback or address.is_multicast
    return not special and not _is_link_local_unicast(ip)


def _contains_ip(cidr: Cidr, other: Any) -> bool:
    if not isinstance(other, str):
        return cidr.contains(other.address)
    try:
        return cidr.contains(_ip(other).address)
    except EvaluationError:
        # What is wrong with the text is lost in the original.
        raise no_such_overload() from None


def _contains_cidr(cidr: Cidr, other: Any) -> bool:
    inner = _cidr(other) if isinstance(other, str) else other
    return cidr.bits <= inner.bits and cidr.contains(inner.address)


def _masked(cidr: Cidr) -> Cidr:
    host_bits = cidr.address.max_prefixlen - cidr.bits
    return Cidr(type(cidr.address)(int(cidr.address) >> host_bits << host_bits), cidr.bits)


def declare_networks() -> Library:
    """Kubernetes' libraries of IP addresses and networks."""
    library = Library()
    add = library.overload
    add("ip", "(string) -> ip", "string_to_ip", _ip)
    add("family", "ip.() -> int", "ip_family", lambda ip: ip.address.version)
    add("ip.isCanonical", "(string) -> bool", "ip_is_canonical", _is_canonical)
    add("isUnspecified", "ip.() -> bool", "ip_is_unspecified", lambda ip: ip.address.is_unspecified)
    add("isLoopback", "ip.() -> bool", "ip_is_loopback", lambda ip: ip.address.is_loopback)
    add("isLinkLocalMulticast", "ip.() -> bool", "ip_is_link_local_multicast", _is_link_local_multicast)
    add("isLinkLocalUnicast", "ip.() -> bool", "ip_is_link_local_unicast", _is_link_local_unicast)
    add("isGlobalUnicast", "ip.() -> bool", "ip_is_global_unicast", _is_global_unicast)
    add("isIP", "(string) -> bool", "is_ip", _is(_ip))
    add("string", "(ip) -> string", "ip_to_string", str)
    add("cidr", "(string) -> cidr", "string_to_cidr", _cidr)
    add("containsIP", "cidr.(string) -> bool", "cidr_contains_ip_string", _contains_ip)
    add("containsIP", "cidr.(ip) -> bool", "cidr_contains_ip_ip", _contains_ip)
    add("containsCIDR", "cidr.(string) -> bool", "cidr_contains_cidr_string", _contains_cidr)
    add("containsCIDR", "cidr.(cidr) -> bool", "cidr_contains_cidr", _contains_cidr)
    add("ip", "cidr.() -> ip", "cidr_ip", lambda cidr: IpAddress(cidr.address))
    add("prefixLength", "cidr.() -> int", "cidr_prefix_length", lambda cidr: cidr.bits)
    add("masked", "cidr.() -> cidr", "cidr_masked", _masked)
    add("isCIDR", "(string) -> bool", "is_cidr", _is(_cidr))
    add("string", "(cidr) -> string", "cidr_to_string", str)
    return library
