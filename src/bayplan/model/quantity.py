"""Quantities: "100m", "1.5Gi", "1e3" as exact numbers; parsed, rounded, added and printed as Kubernetes does.

A quantity is `unscaled × 10^scale` with a format to print it in. Kubernetes stores small numbers in an int64, and
large or fractional binary ones as a big decimal (`big`); the two overflow, and round below zero, differently.
`parse_value`, `parse_milli` and `parse_nano` are the fast way for the scheduler: cached by text, and most texts
are plain digits with a unit, which need no Quantity.

Upstream's corner cases are kept: a sign, a dot or a unit without digits is zero; amounts finer than a billionth
round away from zero; binary amounts are capped at the largest int64; a text that looks canonical is printed as it
was written, even "1.500" or "007"; an exponent that has no unit prints none.
"""

import re
from decimal import Decimal
from functools import lru_cache, total_ordering
from typing import Final, NamedTuple

DECIMAL_SI: Final = "DecimalSI"
BINARY_SI: Final = "BinarySI"
DECIMAL_EXPONENT: Final = "DecimalExponent"

MILLI: Final = -3
NANO: Final = -9

_DECIMAL_UNITS: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_UNITS: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES: Final = {exponent: unit for unit, exponent in _DECIMAL_UNITS.items()}
_BINARY_SUFFIXES: Final = {exponent: unit for unit, exponent in _BINARY_UNITS.items()}
_NANOS: Final = {unit: 10 ** (exponent - NANO) for unit, exponent in _DECIMAL_UNITS.items()} | {
    unit: 2**exponent * 10**9 for unit, exponent in _BINARY_UNITS.items()
}

#: What almost every quantity looks like; 18 digits fit an int64 for sure.
_PLAIN: Final = re.compile(r"([0-9]{1,18})([numkMGTPE]?|[KMGTPE]i)")
_TEXT: Final = re.compile(r"([+-]?)(0*)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")
_WHITE_SPACE: Final = " \t\n\v\f\r\x85\xa0"

_MAX_INT64: Final = 2**63 - 1
_NANO_PER_MILLI: Final = 10**6
_NANO_PER_UNIT: Final = 10**9
#: Digits that Kubernetes is certain to fit into an int64; longer numbers become big decimals.
_SMALL_DIGITS: Final = 18
_SMALL_BINARY_DIGITS: Final = 14
#: A big decimal with a larger exponent is refused; Kubernetes would spend minutes on it.
_MAX_EXPONENT: Final = 4096
#: Numbers with more digits are refused in sums; Kubernetes would spend minutes on them.
_MAX_DIGITS: Final = 10_000


class QuantityError(ValueError):
    """A text that is not a quantity."""

    def __init__(self, text: object, reason: str) -> None:
        self.text = text
        super().__init__(f"invalid quantity {text!r}: {reason}")


# --- fast ways --------------------------------------------------------------------------------------------


@lru_cache(maxsize=65536, typed=True)
def parse_value(text: str | int | float | None) -> int:
    """The amount in whole units, rounded up. Raises QuantityError."""
    nanos = _plain_nanos(text)
    if nanos is not None and nanos <= _MAX_INT64 * _NANO_PER_UNIT:
        return -(-nanos // _NANO_PER_UNIT)
    return Quantity.parse(text).value


@lru_cache(maxsize=65536, typed=True)
def parse_milli(text: str | int | float | None) -> int:
    """The amount in thousandths, rounded up. Raises QuantityError."""
    nanos = _plain_nanos(text)
    if nanos is not None and nanos <= _MAX_INT64 * _NANO_PER_MILLI:
        return -(-nanos // _NANO_PER_MILLI)
    return Quantity.parse(text).milli_value


@lru_cache(maxsize=65536, typed=True)
def parse_nano(text: str | int | float | None) -> int | None:
    """The exact amount in billionths, of which every quantity is a multiple. Raises QuantityError.

    None for negative and for huge amounts, where plain arithmetic and Kubernetes' rounding would differ.
    """
    nanos = _plain_nanos(text)
    if nanos is not None and nanos <= _MAX_INT64 * _NANO_PER_UNIT:
        return nanos
    quantity = Quantity.parse(text)
    if quantity.unscaled < 0 or quantity.scale > 40:
        return None
    return _rescaled(quantity, NANO)


def _plain_nanos(text: object) -> int | None:
    """Billionths of a text of digits and a unit; None for any other text."""
    found = _PLAIN.fullmatch(text) if isinstance(text, str) else None
    return None if found is None else int(found[1]) * _NANOS[found[2]]


# --- quantities -------------------------------------------------------------------------------------------


@total_ordering
class Quantity:
    """An immutable amount of a resource."""

    __slots__ = ("_text", "big", "format", "scale", "unscaled")

    def __init__(
        self, unscaled: int, scale: int = 0, format: str = DECIMAL_SI, *, big: bool = False, text: str = ""
    ) -> None:
        self.unscaled = unscaled
        self.scale = scale
        self.format = format
        self.big = big
        #: How it prints; computed when needed if empty.
        self._text = text

    @staticmethod
    def parse(text: str | int | float | None) -> "Quantity":
        """Read a quantity from JSON: text, a number, or null for zero. Raises QuantityError."""
        if text is None:
            return Quantity(0, format="")
        if isinstance(text, bool) or not isinstance(text, str | int | float):
            raise QuantityError(text, "must be text or a number")
        return _parse_text(text if isinstance(text, str) else repr(text))

    @property
    def value(self) -> int:
        """The amount in units, rounded up; an int64, with Kubernetes' results where that overflows."""
        return self.scaled_value(0)

    @property
    def milli_value(self) -> int:
        """The amount in thousandths, rounded up; an int64, with Kubernetes' results where that overflows."""
        return self.scaled_value(MILLI)

    def scaled_value(self, scale: int) -> int:
        """The amount in units of 10^scale, rounded up.

        Negative amounts: a small one rounds away from zero, a big one is truncated and then gets one added.
        """
        shift = self.scale - scale
        if self.big:
            return _big_shifted(self.unscaled, shift)
        return _small_shifted(self.unscaled, shift)

    @property
    def is_zero(self) -> bool:
        """Whether the amount is zero."""
        return self.unscaled == 0

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.unscaled > 0) - (self.unscaled < 0)

    def __add__(self, other: "Quantity") -> "Quantity":
        """The exact sum, in the format of the first operand unless that is zero."""
        format = other.format if self.is_zero else self.format
        if not (self.big or other.big) and (self.is_zero or other.is_zero):
            addend = other if self.is_zero else self
            return Quantity(addend.unscaled, addend.scale, format)
        scale = min(self.scale, other.scale)
        first, second = _rescaled(self, scale), _rescaled(other, scale)
        fits = all(_is_int64(each) for each in (first, second, first + second))
        return Quantity(first + second, scale, format, big=self.big or other.big or not fits)

    def __sub__(self, other: "Quantity") -> "Quantity":
        """The exact difference, in the format of the first operand unless that is zero."""
        return self + Quantity(-other.unscaled, other.scale, other.format, big=other.big)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._decimal() == other._decimal()

    def __lt__(self, other: "Quantity") -> bool:
        return self._decimal() < other._decimal()

    def __hash__(self) -> int:
        return hash(self._decimal())

    def __str__(self) -> str:
        """The canonical form; a text that looked canonical when it was parsed is kept as it was."""
        if not self._text:
            self._text = _canonical_text(self.unscaled, self.scale, self.format)
        return self._text

    def __repr__(self) -> str:
        return f"Quantity.parse({str(self)!r})"

    def _decimal(self) -> Decimal:
        digits = tuple(map(int, str(abs(self.unscaled))))
        return Decimal((self.unscaled < 0, digits, self.scale))


def _rescaled(quantity: Quantity, scale: int) -> int:
    """The unscaled number at a scale not above the quantity's own; exact."""
    if quantity.scale - scale > _MAX_DIGITS:
        raise QuantityError(str(quantity), "too large to be added to")
    return int(quantity.unscaled * 10 ** (quantity.scale - scale))


def _is_int64(number: int) -> bool:
    return -_MAX_INT64 - 1 <= number <= _MAX_INT64


def _int64(number: int) -> int:
    """The low 64 bits as a signed number: what is left after an overflow."""
    return (number + 2**63) % 2**64 - 2**63


def _small_shifted(unscaled: int, shift: int) -> int:
    """unscaled × 10^shift for a number stored in an int64."""
    if shift < 0:
        magnitude: int = -(-abs(unscaled) // 10 ** min(-shift, 19))
        return -magnitude if unscaled < 0 else magnitude
    if unscaled == 0 or shift == 0:
        return unscaled
    product: int = unscaled * 10 ** min(shift, 20)
    if _is_int64(product):
        return product
    # Kubernetes multiplies by these powers in one step and keeps the low bits; for other powers it loops.
    return _int64(product) if shift in (1, 2, 3, 6, 9) else 0


def _big_shifted(unscaled: int, shift: int) -> int:
    """unscaled × 10^shift for a big decimal."""
    if shift >= 0:
        power = 10**shift if shift <= 18 else -_MAX_INT64 - 1
        return _int64(_int64(unscaled) * power) if shift else _int64(unscaled)
    divisor: int = 10**-shift
    if unscaled < _MAX_INT64 and -shift < 19:
        number = _int64(unscaled)
        quotient = abs(number) // divisor * (-1 if number < 0 else 1)
        return quotient + 1 if number % divisor else quotient
    quotient, rest = divmod(unscaled, divisor)
    return _int64(_int64(quotient) + 1) if rest else _int64(quotient)


# --- parsing ----------------------------------------------------------------------------------------------


class _Number(NamedTuple):
    negative: bool
    digits: str  # before the point, without leading zeros, "0" if none
    decimals: str
    has_digits: bool

    @property
    def joined(self) -> str:
        return self.digits + self.decimals


@lru_cache(maxsize=65536)
def _parse_text(text: str) -> Quantity:
    """Read a quantity; white space around it is ignored. Raises QuantityError."""
    stripped = text.strip(_WHITE_SPACE)
    if stripped == "0":
        return Quantity(0, 0, DECIMAL_SI, text="0")
    found = _TEXT.fullmatch(stripped)
    if not stripped or not found:
        raise QuantityError(text, "must be a number with an optional unit such as m, k, Mi, Gi or e3")
    sign, zeros, digits, decimals, suffix = found.groups()
    number = _Number(sign == "-", digits or "0", decimals or "", has_digits=bool(zeros or digits or decimals))
    if suffix in _BINARY_UNITS:
        return _parse_binary(stripped, number, _BINARY_UNITS[suffix])
    return _parse_decimal(stripped, number, suffix)


def _parse_decimal(text: str, number: _Number, suffix: str) -> Quantity:
    exponent, format = _exponent_of(text, suffix)
    scale = exponent - len(number.decimals)
    joined = number.joined
    if len(joined) <= _SMALL_DIGITS and scale >= NANO:
        looks_canonical = scale % 3 == 0 and not joined.endswith("000") and joined[0] != "0"
        return Quantity(_signed(number), scale, format, text=text if looks_canonical else "")
    magnitude = _big_magnitude(number, text)
    if magnitude == 0:
        return Quantity(0, max(-_MAX_EXPONENT, min(scale, _MAX_EXPONENT)), format, big=True)
    if scale > _MAX_EXPONENT:
        raise QuantityError(text, "the exponent is too large")
    nanos = _at_nano(magnitude, scale)
    return Quantity(-nanos if number.negative else nanos, NANO, format, big=True)


def _parse_binary(text: str, number: _Number, exponent: int) -> Quantity:
    factor = 1 << exponent
    if not number.decimals and len(number.digits) + exponent * 3 // 10 <= _SMALL_BINARY_DIGITS:
        unscaled = _signed(number)
        return Quantity(unscaled * factor, 0, BINARY_SI, text=text if abs(unscaled) & 7 else "")
    magnitude = _big_magnitude(number, text)
    if magnitude == 0:
        return Quantity(0, -len(number.decimals), BINARY_SI, big=True)
    nanos = _at_nano(magnitude * factor, -len(number.decimals))
    if nanos > _MAX_INT64 * 10**9:
        return Quantity(-_MAX_INT64 if number.negative else _MAX_INT64, 0, BINARY_SI, big=True)
    format = DECIMAL_SI if nanos < 10**9 else BINARY_SI
    return Quantity(-nanos if number.negative else nanos, NANO, format, big=True)


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
    shift = scale - NANO
    if shift >= 0:
        return int(magnitude * 10**shift)
    if -shift > _MAX_EXPONENT:
        return 1 if magnitude else 0
    return int(-(-magnitude // 10**-shift))


# --- printing ---------------------------------------------------------------------------------------------


def _canonical_text(unscaled: int, scale: int, format: str) -> str:
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
