"""Quantities as text: reading everything Kubernetes reads, printing the canonical form it prints.

Both keep upstream's corners: a sign, a dot or a unit without digits is zero; amounts finer than a billionth round
away from zero; binary amounts are capped at the largest int64; a text that looks canonical is kept as it is, even
"1.500" or "007"; an exponent that has no unit prints none.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

DECIMAL_SI: Final = "DecimalSI"
BINARY_SI: Final = "BinarySI"
DECIMAL_EXPONENT: Final = "DecimalExponent"

_DECIMAL_UNITS: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_UNITS: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES: Final = {exponent: unit for unit, exponent in _DECIMAL_UNITS.items()}
_BINARY_SUFFIXES: Final = {exponent: unit for unit, exponent in _BINARY_UNITS.items()}

_TEXT = re.compile(r"([+-]?)(0*)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
_WHITE_SPACE = " \t\n\v\f\r\x85\xa0"

_NANO: Final = -9
_MAX_INT64: Final = 2**63 - 1
#: Digits of which Kubernetes is sure that they fit an int64; longer numbers become big decimals.
_SMALL_DIGITS: Final = 18
_SMALL_BINARY_DIGITS: Final = 14
#: A big decimal with a larger exponent is refused; Kubernetes would spend minutes on it.
_MAX_EXPONENT: Final = 4096


class QuantityError(ValueError):
    """A text that is not a quantity."""

    def __init__(self, text: object, reason: str) -> None:
        self.text = text
        super().__init__(f"invalid quantity {text!r}: {reason}")


class Parsed(NamedTuple):
    """A number `unscaled × 10^scale`, how to print it, and the text to print if it is kept."""

    unscaled: int
    scale: int
    format: str
    big: bool = False
    kept_text: str = ""


class _Number(NamedTuple):
    negative: bool
    digits: str  # before the point, without leading zeros, "0" if none
    decimals: str
    has_digits: bool

    @property
    def joined(self) -> str:
        return self.digits + self.decimals


@lru_cache(maxsize=65536)
def parse_text(text: str) -> Parsed:
    """Read a quantity; white space around it is ignored. Raises QuantityError."""
    stripped = text.strip(_WHITE_SPACE)
    if stripped == "0":
        return Parsed(0, 0, DECIMAL_SI, kept_text="0")
    found = _TEXT.fullmatch(stripped)
    if not stripped or not found:
        raise QuantityError(text, "must be a number with an optional unit such as m, k, Mi, Gi or e3")
    sign, zeros, digits, decimals, suffix = found.groups()
    number = _Number(sign == "-", digits or "0", decimals or "", has_digits=bool(zeros or digits or decimals))
    if suffix in _BINARY_UNITS:
        return _parse_binary(stripped, number, _BINARY_UNITS[suffix])
    return _parse_decimal(stripped, number, suffix)


def canonical_text(unscaled: int, scale: int, format: str) -> str:
    """The canonical form: no fraction, the largest unit that allows it."""
    if unscaled == 0:
        return "0"
    if format == BINARY_SI:
        whole = _whole(unscaled, scale)
        if whole is not None and abs(whole) >= 1024:
            mantissa, times = _without_factor(whole, 1024)
            return f"{mantissa}{_BINARY_SUFFIXES.get(times * 10, '')}"
        format = DECIMAL_SI  # binary units would lose the fraction, or are not worth it
    mantissa, times = _without_factor(unscaled, 10)
    exponent = scale + times
    mantissa *= 10 ** (exponent % 3)
    exponent -= exponent % 3
    if format == DECIMAL_SI:
        return f"{mantissa}{_DECIMAL_SUFFIXES.get(exponent, '')}"
    return f"{mantissa}e{exponent}" if exponent else str(mantissa)


def _parse_decimal(text: str, number: _Number, suffix: str) -> Parsed:
    exponent, format = _exponent_of(text, suffix)
    scale = exponent - len(number.decimals)
    joined = number.joined
    if len(joined) <= _SMALL_DIGITS and scale >= _NANO:
        looks_canonical = scale % 3 == 0 and not joined.endswith("000") and joined[0] != "0"
        return Parsed(_signed(number), scale, format, kept_text=text if looks_canonical else "")
    magnitude = _big_magnitude(number, text)
    if magnitude == 0:
        return Parsed(0, max(-_MAX_EXPONENT, min(scale, _MAX_EXPONENT)), format, big=True)
    if scale > _MAX_EXPONENT:
        raise QuantityError(text, "the exponent is too large")
    nanos = _at_nano(magnitude, scale)
    return Parsed(-nanos if number.negative else nanos, _NANO, format, big=True)


def _parse_binary(text: str, number: _Number, exponent: int) -> Parsed:
    factor = 1 << exponent
    if not number.decimals and len(number.digits) + exponent * 3 // 10 <= _SMALL_BINARY_DIGITS:
        unscaled = _signed(number)
        return Parsed(unscaled * factor, 0, BINARY_SI, kept_text=text if abs(unscaled) & 7 else "")
    magnitude = _big_magnitude(number, text)
    if magnitude == 0:
        return Parsed(0, -len(number.decimals), BINARY_SI, big=True)
    nanos = _at_nano(magnitude * factor, -len(number.decimals))
    if nanos > _MAX_INT64 * 10**9:
        return Parsed(-_MAX_INT64 if number.negative else _MAX_INT64, 0, BINARY_SI, big=True)
    format = DECIMAL_SI if nanos < 10**9 else BINARY_SI
    return Parsed(-nanos if number.negative else nanos, _NANO, format, big=True)


def _exponent_of(text: str, suffix: str) -> tuple[int, str]:
    if suffix in _DECIMAL_UNITS:
        return _DECIMAL_UNITS[suffix], DECIMAL_SI
    found = _EXPONENT.fullmatch(suffix)
    if not found or len(found[1]) > 20 or not -(2**63) <= int(found[1]) < 2**63:
        raise QuantityError(text, f"unknown unit {suffix!r}")
    return _int32(int(found[1])), DECIMAL_EXPONENT


def _int32(number: int) -> int:
    """The low 32 bits, which is what Kubernetes keeps of an exponent."""
    return (number + 2**31) % 2**32 - 2**31


def _signed(number: _Number) -> int:
    magnitude = int(number.joined)
    return -magnitude if number.negative else magnitude


def _big_magnitude(number: _Number, text: str) -> int:
    """The digits of a big decimal, which, unlike a small number, must have some."""
    if not number.has_digits:
        raise QuantityError(text, "there is no number before the unit")
    try:
        return int(number.joined)
    except ValueError:  # Python refuses to read more than some thousands of digits
        raise QuantityError(text, "too many digits") from None


def _at_nano(magnitude: int, scale: int) -> int:
    """magnitude × 10^scale in billionths, rounded up."""
    shift = scale - _NANO
    if shift >= 0:
        return int(magnitude * 10**shift)
    if -shift > _MAX_EXPONENT:
        return 1 if magnitude else 0
    return int(-(-magnitude // 10**-shift))


def _whole(unscaled: int, scale: int) -> int | None:
    """The number if it is whole."""
    if scale >= 0:
        return int(unscaled * 10**scale)
    quotient, rest = divmod(unscaled, 10**-scale)
    return None if rest else int(quotient)


def _without_factor(number: int, factor: int) -> tuple[int, int]:
    times = 0
    while number % factor == 0:
        number //= factor
        times += 1
    return number, times
