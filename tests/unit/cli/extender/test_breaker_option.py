"""`bayplan run --extender-breaker`: failures, and a pause."""

from __future__ import annotations

import click
import pytest

from bayplan.cli.extender.breaker_option import BreakerType
from bayplan.cli.run import command
from bayplan.extender import BreakerSettings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("0", None, id="off"),
        pytest.param("5", BreakerSettings(5, 30.0), id="failures alone"),
        pytest.param("5:", BreakerSettings(5, 30.0), id="no pause after all"),
        pytest.param("5:1m30s", BreakerSettings(5, 90.0), id="with a pause"),
    ],
)
def test_values(text: str, expected: BreakerSettings | None) -> None:
    assert BreakerType().convert(text, None, None) == expected


@pytest.mark.parametrize("text", ["", "x", "-1", "5:soon", "5:0s", "5:30"])
def test_what_is_none(text: str) -> None:
    """The message shows what would be right."""
    with pytest.raises(click.BadParameter):
        BreakerType().convert(text, None, None)


def test_it_is_off_by_default() -> None:
    """Extenders are then asked as kube-scheduler asks them."""
    assert command.make_context("run", []).params["extender_breaker"] is None
