"""Quantities: "100m", "1.5Gi", "1e3" as exact numbers, read, rounded, added and printed as Kubernetes does.

A quantity is `unscaled × 10^scale` with a format to print it in. Kubernetes keeps small numbers in an int64, and
large or fractional binary ones as a big decimal (`big`); the two overflow, and round below zero, differently.
`parse_value` and `parse_milli` are the short way for the scheduler, remembered by text.
"""

from decimal import Decimal
from functools import lru_cache, total_ordering
from typing import Final

from bayplan.model.quantity_text import DECIMAL_SI, Parsed, QuantityError, canonical_text, parse_text

MILLI: Final = -3
NANO: Final = -9

_MAX_INT64: Final = 2**63 - 1
#: Beyond this many digits numbers are not worked with; Kubernetes would, and take minutes.
_MAX_DIGITS: Final = 10_000


@total_ordering
class Quantity:
    """An immutable amount of a resource."""

    __slots__ = ("_text", "big", "format", "scale", "unscaled")

    def __init__(self, unscaled: int, scale: int = 0, format: str = DECIMAL_SI, *, big: bool = False) -> None:
        self.unscaled = unscaled
        self.scale = scale
        self.format = format
        self.big = big
        self._text = ""

    @classmethod
    def parse(cls, text: str | int | float | None) -> "Quantity":
        """Read a quantity from JSON: text, a number, or null for zero. Raises QuantityError."""
        if text is None:
            return cls(0, format="")
        return cls._from_parsed(parse_text(_as_text(text)))

    @classmethod
    def _from_parsed(cls, parsed: Parsed) -> "Quantity":
        quantity = cls(parsed.unscaled, parsed.scale, parsed.format, big=parsed.big)
        quantity._text = parsed.kept_text
        return quantity

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
        """The canonical form; a text that was close enough to it when parsed is kept as it was."""
        if not self._text:
            self._text = canonical_text(self.unscaled, self.scale, self.format)
        return self._text

    def __repr__(self) -> str:
        return f"Quantity.parse({str(self)!r})"

    def _decimal(self) -> Decimal:
        digits = tuple(map(int, str(abs(self.unscaled))))
        return Decimal((self.unscaled < 0, digits, self.scale))


@lru_cache(maxsize=65536, typed=True)
def parse_value(text: str | int | float | None) -> int:
    """The value of a quantity in whole units, rounded up. Raises QuantityError."""
    return Quantity.parse(text).value


@lru_cache(maxsize=65536, typed=True)
def parse_milli(text: str | int | float | None) -> int:
    """The value of a quantity in thousandths, rounded up. Raises QuantityError."""
    return Quantity.parse(text).milli_value


@lru_cache(maxsize=65536, typed=True)
def parse_nano(text: str | int | float | None) -> int | None:
    """The exact amount in billionths, of which every quantity is a multiple. Raises QuantityError.

    None for negative and for vast amounts: there plain arithmetic and Kubernetes' rounding would part.
    """
    quantity = Quantity.parse(text)
    if quantity.unscaled < 0 or quantity.scale > 40:
        return None
    return _rescaled(quantity, NANO)


def _as_text(number: str | int | float) -> str:
    if isinstance(number, bool) or not isinstance(number, str | int | float):
        raise QuantityError(number, "must be text or a number")
    return number if isinstance(number, str) else repr(number)


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
    """unscaled × 10^shift for a number kept in an int64."""
    if shift < 0:
        magnitude: int = -(-abs(unscaled) // 10 ** min(-shift, 19))
        return -magnitude if unscaled < 0 else magnitude
    if unscaled == 0 or shift == 0:
        return unscaled
    product: int = unscaled * 10 ** min(shift, 20)
    if _is_int64(product):
        return product
    # Kubernetes multiplies by these powers at once and keeps what is left; other powers it goes step by step.
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
