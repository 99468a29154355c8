"""Values as Go prints them with %v; error messages have such texts."""

from __future__ import annotations

from typing import Any

from bayplan.cel.runtime.cel_values import Duration, OptionalValue, Timestamp, map_keys


def display(value: Any) -> str:
    """A value as a text for people."""
    match value:
        case None:
            return "NULL_VALUE"
        case bool():
            return "true" if value else "false"
        case float():
            return go_float(value)
        case bytes():
            return f"[{' '.join(map(str, value))}]"
        case list():
            return f"[{', '.join(map(display, value))}]"
        case dict():
            entries = zip(map_keys(value), value.values(), strict=True)
            return f"{{{', '.join(f'{display(key)}: {display(item)}' for key, item in entries)}}}"
        case OptionalValue():
            return f"optional({display(value.value)})" if value.has_value else "optional.none()"
        case Duration():
            return go_duration(value.nanos)
        case Timestamp():
            from bayplan.cel.functions.time_text import go_time

            return go_time(value)
        case _:
            return str(value)


def go_float(number: float) -> str:
    """A number as Go prints it with %g: the shortest text, an exponent where it has 7 digits or is tiny."""
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "+Inf" if number > 0 else "-Inf"
    mantissa, _, exponent_text = f"{number!r}".lower().partition("e")
    digits, exponent = _decimal_digits(mantissa, int(exponent_text or 0))
    sign = "-" if str(number).startswith("-") else ""
    if not -4 <= exponent < 6:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{exponent:+03d}"
    return sign + _positional(digits, exponent)


def _decimal_digits(mantissa: str, exponent: int) -> tuple[str, int]:
    """The significant digits, and the exponent of the first."""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    return (digits, exponent + len(whole) - 1 - leading) if digits else ("0", 0)


def _positional(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    if len(digits) <= exponent + 1:
        return digits + "0" * (exponent + 1 - len(digits))
    return f"{digits[: exponent + 1]}.{digits[exponent + 1 :]}"


def go_fixed(number: float) -> str:
    """A number as Go prints it with 'f' and no precision: the shortest text, never an exponent."""
    if number != number or number in (float("inf"), float("-inf")):
        return go_float(number)
    mantissa, _, exponent_text = f"{number!r}".lower().partition("e")
    digits, exponent = _decimal_digits(mantissa, int(exponent_text or 0))
    return ("-" if str(number).startswith("-") else "") + _positional(digits, exponent)


def go_duration(nanos: int) -> str:
    """A duration as Go prints it: 1h2m3.5s, 1.5ms, 0s."""
    if nanos == 0:
        return "0s"
    sign, nanos = ("-", -nanos) if nanos < 0 else ("", nanos)
    for unit, size in (("ns", 1), ("µs", 1000), ("ms", 1_000_000)):
        if nanos < size * 1000:
            return f"{sign}{_fraction(nanos, size)}{unit}"
    minutes, rest = divmod(nanos, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{_fraction(rest, 1_000_000_000)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else sign + text


def _fraction(number: int, size: int) -> str:
    whole, rest = divmod(number, size)
    if not rest:
        return str(whole)
    return f"{whole}.{str(rest).rjust(len(str(size)) - 1, '0').rstrip('0')}"


_GO_TYPES = {
    "NoneType": "types.Null", "bool": "types.Bool", "int": "types.Int", "Uint": "types.Uint",
    "float": "types.Double", "str": "types.String", "bytes": "types.Bytes", "list": "*types.baseList",
    "Timestamp": "types.Timestamp", "Duration": "types.Duration", "OptionalValue": "*types.Optional",
    "CelType": "*types.Type", "Quantity": "cel.Quantity", "ComputedQuantity": "*cel.Quantity",
    "SemanticVersion": "cel.Semver", "Url": "cel.URL",
    "IpAddress": "cel.IP", "Cidr": "cel.CIDR", "NamedFormat": "cel.Format",
}  # fmt: skip


def go_type(value: Any) -> str:
    """The name of the type that holds a value in the original."""
    return _GO_TYPES.get(type(value).__name__, "*types.baseMap")


_NATIVE_TYPES = {
    "Quantity": "*resource.Quantity", "ComputedQuantity": "*resource.Quantity",
    "SemanticVersion": "semver.Version", "Url": "*url.URL",
    "IpAddress": "netip.Addr", "Cidr": "netip.Prefix",
}  # fmt: skip


def native_type(value: Any) -> str:
    """The type inside a value of Kubernetes' own, which cel-go itself does not know; else empty."""
    return _NATIVE_TYPES.get(type(value).__name__, "")
