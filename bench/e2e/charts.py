"""Bar charts as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

_WIDTH, _LABELS, _RIGHT = 760, 150, 60
_BAR, _GAP, _TOP, _BOTTOM = 18, 10, 44, 24
_BLUE, _GREY, _RED = "#2f6fb3", "#8a8f98", "#c0392b"


class Bar(NamedTuple):
    """One value with its spread and its aim."""

    label: str
    value: float
    low: float
    high: float
    #: The aim; None if there is none.
    mark: float | None = None


def bar_chart(title: str, bars: Sequence[Bar], *, base: float | None = None) -> str:
    """Horizontal bars with their spread as a line, aims as red marks, and a dashed line at *base*."""
    end = _round_up(max([bar.high for bar in bars] + [bar.mark or 0 for bar in bars] + [base or 0, 1e-9]))
    height = _TOP + len(bars) * (_BAR + _GAP) + _BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="8" y="22" font-size="15" font-weight="bold">{escape(title)}</text>',
    ]
    for i, bar in enumerate(bars):
        parts += _bar(bar, _TOP + i * (_BAR + _GAP), end)
    if base is not None:
        x = _x(base, end)
        parts.append(
            f'<line x1="{x:.1f}" y1="{_TOP - 6}" x2="{x:.1f}" y2="{height - _BOTTOM}" stroke="{_GREY}" '
            'stroke-dasharray="4 3"/>'
        )
        parts.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle" fill="{_GREY}">{base:g}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _bar(bar: Bar, y: int, end: float) -> list[str]:
    middle, x = y + _BAR / 2, _x(bar.value, end)
    parts = [
        f'<text x="{_LABELS - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(bar.label)}</text>',
        f'<rect x="{_LABELS}" y="{y}" width="{x - _LABELS:.1f}" height="{_BAR}" fill="{_BLUE}"/>',
        f'<line x1="{_x(bar.low, end):.1f}" y1="{middle}" x2="{_x(bar.high, end):.1f}" y2="{middle}" '
        'stroke="black"/>',
        f'<text x="{_x(max(bar.high, bar.value), end) + 6:.1f}" y="{middle + 4:.1f}">{bar.value:.2g}</text>',
    ]
    if bar.mark is not None:
        mark = _x(bar.mark, end)
        parts.append(
            f'<line x1="{mark:.1f}" y1="{y - 3}" x2="{mark:.1f}" y2="{y + _BAR + 3}" stroke="{_RED}" '
            'stroke-width="2"/>'
        )
    return parts


def _x(value: float, end: float) -> float:
    return _LABELS + (_WIDTH - _LABELS - _RIGHT) * value / end


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, …, as the end of an axis."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if value <= step * power * (1 + 1e-9))
