"""Unquoted scalars mean what kube-scheduler's YAML reader takes them for."""

from __future__ import annotations

import pytest

from bayplan.config.scalars import resolve
from bayplan.config.tree import ScalarValue


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("y", True),
        ("On", True),
        ("no", False),
        ("N", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("nULL", "nULL"),
        ("10", 10),
        ("-3", -3),
        ("+3", 3),
        ("010", 8),
        ("0o10", 8),
        ("08", 8),
        ("0x1F", 31),
        ("0b11", 3),
        ("1_0", 10),
        ("4.0", 4),
        ("1e1", 10),
        ("5.", 5),
        (".5", 0.5),
        ("1e21", 1e21),
        ("1e400", "1e400"),
        ("18446744073709551615", 18446744073709551615),
        ("1:30", "1:30"),
        ("2001-01-01", "2001-01-01"),
        ("1s", "1s"),
        ("-", "-"),
        ("yesterday", "yesterday"),
    ],
)
def test_plain_scalars(text: str, value: ScalarValue) -> None:
    """YAML 1.1 words, Go's number syntax, whole floats as integers."""
    resolved = resolve(text)

    assert resolved == value
    assert type(resolved) is type(value)
