"""Quantities against Kubernetes' own results (worked out with apimachinery 0.36.4) and against exact fractions."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model import Quantity, QuantityError, parse_milli, parse_value
from bayplan.model.quantity import parse_nano

MAX = 2**63 - 1

FACTORS = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
}  # fmt: skip


@st.composite
def amounts(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A quantity as text, no finer than a billionth, and its exact value."""
    whole = draw(st.integers(0, 2000))
    unit = draw(st.sampled_from(sorted(FACTORS)))
    decimals = draw(st.from_regex(r"[0-9]{1,3}", fullmatch=True)) if unit not in ("n", "u") else ""
    text = f"{whole}.{decimals}{unit}" if decimals else f"{whole}{unit}"
    return text, Fraction(f"{whole}.{decimals or 0}") * FACTORS[unit]


@pytest.mark.parametrize(
    ("text", "printed", "value", "milli"),
    [
        pytest.param("100m", "100m", 1, 100, id="thousandths"),
        pytest.param("1.5Gi", "1536Mi", 1610612736, 1610612736000, id="binary with a fraction"),
        pytest.param("1e3", "1e3", 1000, 1000000, id="small exponent letter"),
        pytest.param("1E3", "1E3", 1000, 1000000, id="large exponent letter is kept"),
        pytest.param("1.1e5", "110e3", 110000, 110000000, id="exponent becomes a multiple of three"),
        pytest.param("8081461248", "8081461248", 8081461248, 8081461248000, id="plain number"),
        pytest.param("1000", "1k", 1000, 1000000, id="plain thousand"),
        pytest.param("+5", "+5", 5, 5000, id="plus sign is kept"),
        pytest.param("-3", "-3", -3, -3000, id="minus sign"),
        pytest.param(".5", "500m", 1, 500, id="no digit before the point"),
        pytest.param("5.", "5.", 5, 5000, id="no digit after the point"),
        pytest.param("007", "007", 7, 7000, id="leading zeros are kept"),
        pytest.param("1.500", "1.500", 2, 1500, id="three decimals look canonical"),
        pytest.param("0.1n", "1n", 1, 1, id="finer than a billionth rounds up"),
        pytest.param("1e-10", "1e-9", 1, 1, id="finer than a billionth by exponent"),
        pytest.param("0.5m", "500u", 1, 1, id="half a thousandth rounds up"),
        pytest.param("-0.5", "-500m", -1, -500, id="small negatives round away from zero"),
        pytest.param("-1.0000000001", "-1000000001n", 0, -999, id="big negatives truncate and add one"),
        pytest.param("1024Ki", "1Mi", 1048576, 1048576000, id="binary unit grows"),
        pytest.param("1000Ki", "1000Ki", 1024000, 1024000000, id="binary unit that cannot grow"),
        pytest.param("0.5Ki", "512", 512, 512000, id="below 1024 prints without a unit"),
        pytest.param("16Ei", "9223372036854775807", MAX, -1000, id="binary is capped, milli overflows"),
        pytest.param("9223372036854775808", "9223372036854775808", -MAX - 1, 0, id="beyond int64 wraps"),
        pytest.param("1e19", "10e18", 0, 0, id="beyond int64 by exponent is zero"),
        pytest.param("1000E", "1", 0, 0, id="no unit above exa is printed"),
        pytest.param("12e4294967296", "12e4294967296", 12, 12000, id="exponents are cut to 32 bits"),
        pytest.param("-", "0", 0, 0, id="a sign alone is zero"),
        pytest.param(".", "0", 0, 0, id="a point alone is zero"),
        pytest.param("m", "0", 0, 0, id="a unit alone is zero"),
    ],
)
def test_reads_and_prints_as_go(text: str, printed: str, value: int, milli: int) -> None:
    """Text, value and thousandths are those of apimachinery, corner cases included."""
    quantity = Quantity.parse(text)

    assert (str(quantity), quantity.value, quantity.milli_value) == (printed, value, milli)


@pytest.mark.parametrize(
    "text", ["", "1.2.3", "1x", "5+", "1e", "1ee", "1KiB", "Pi", "0x10", "1 Gi", "--1", "1e99999999999999999999"]
)
def test_refuses_what_go_refuses(text: str) -> None:
    """What apimachinery does not parse is an error that quotes the text."""
    with pytest.raises(QuantityError, match="invalid quantity") as raised:
        Quantity.parse(text)

    assert repr(text) in str(raised.value)


@pytest.mark.parametrize("text", ["9" * 5000 + "Gi", "1234567890123456789e999999999"])
def test_refuses_absurd_lengths(text: str) -> None:
    """Numbers that would take minutes to work with are refused at once."""
    with pytest.raises(QuantityError):
        Quantity.parse(text)


@pytest.mark.parametrize(
    ("number", "value", "milli"),
    [(2, 2, 2000), (0.5, 1, 500), (1e21, 0, 0), (None, 0, 0), (" 5 ", 5, 5000)],
    ids=["integer", "fraction", "beyond int64", "null", "white space"],
)
def test_accepts_json_values(number: str | int | float | None, value: int, milli: int) -> None:
    """JSON numbers are quantities, null is zero, and white space around text is ignored."""
    assert (parse_value(number), parse_milli(number)) == (value, milli)


def test_refuses_booleans() -> None:
    """true is not a number, whatever Python thinks."""
    with pytest.raises(QuantityError):
        parse_value(True)


@given(amounts())
def test_values_round_up(amount: tuple[str, Fraction]) -> None:
    """Value and thousandths are the exact amount rounded up."""
    text, exact = amount
    quantity = Quantity.parse(text)

    assert quantity.value == -(-exact.numerator // exact.denominator)
    assert quantity.milli_value == -(-(exact * 1000).numerator // (exact * 1000).denominator)


@given(amounts())
def test_printing_loses_nothing(amount: tuple[str, Fraction]) -> None:
    """Printed and read again a quantity is the same, and prints the same."""
    quantity = Quantity.parse(amount[0])
    again = Quantity.parse(str(quantity))

    assert again == quantity
    assert hash(again) == hash(quantity)
    assert str(again) == str(quantity)


@given(amounts(), amounts())
def test_orders_as_numbers(first: tuple[str, Fraction], second: tuple[str, Fraction]) -> None:
    """Quantities compare as the numbers they are, whatever their units."""
    left, right = Quantity.parse(first[0]), Quantity.parse(second[0])

    assert (left < right) == (first[1] < second[1])
    assert (left == right) == (first[1] == second[1])


@given(amounts(), amounts())
def test_adds_exactly(first: tuple[str, Fraction], second: tuple[str, Fraction]) -> None:
    """Sums and differences are exact; rounding comes last."""
    total = Quantity.parse(first[0]) + Quantity.parse(second[0])
    exact = (first[1] + second[1]) * 1000

    assert total.milli_value == -(-exact.numerator // exact.denominator)
    assert total - Quantity.parse(second[0]) == Quantity.parse(first[0])


def test_sum_keeps_the_first_format() -> None:
    """A sum prints in the format of the first operand, unless that is zero."""
    assert str(Quantity.parse("1Gi") + Quantity.parse("1073741824")) == "2Gi"
    assert str(Quantity.parse("0") + Quantity.parse("1Gi")) == "1Gi"


def test_vast_quantities_compare() -> None:
    """Comparing never expands the number, so vast exponents cost nothing."""
    assert Quantity.parse("1e2147483647") > Quantity.parse("1Ei")


@given(
    st.integers(0, 10**20).map(str) | st.from_regex(r"[0-9]{1,20}", fullmatch=True),
    st.sampled_from(["n", "u", "m", "", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]),
)
def test_fast_parsers_give_what_a_quantity_gives(digits: str, unit: str) -> None:
    """Digits with a unit are read without a Quantity, up to the amounts where Kubernetes overflows."""
    text = digits + unit
    quantity = Quantity.parse(text)

    assert parse_value(text) == quantity.value
    assert parse_milli(text) == quantity.milli_value
    nanos = parse_nano(text)
    assert nanos is not None
    assert Quantity(nanos, -9) == quantity
