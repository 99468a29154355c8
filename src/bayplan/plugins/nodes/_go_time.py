"""Parses times by a Go layout: the reference time, Mon Jan 2 15:04:05 MST 2006, in the expected format."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

#: Element of a Go layout → directive of `strptime`. Longer elements come first.
_DIRECTIVES: Final = {
    "January": "%B",
    "Monday": "%A",
    "Z07:00": "%z",
    "-07:00": "%z",
    "2006": "%Y",
    "-0700": "%z",
    "Z0700": "%z",
    "Jan": "%b",
    "Mon": "%a",
    "MST": "%Z",
    "01": "%m",
    "02": "%d",
    "03": "%I",
    "04": "%M",
    "05": "%S",
    "06": "%y",
    "15": "%H",
    "PM": "%p",
    "pm": "%p",
    "_2": "%d",
    "1": "%m",
    "2": "%d",
    "3": "%I",
    "4": "%M",
    "5": "%S",
}
_ELEMENT: Final = re.compile("|".join(map(re.escape, _DIRECTIVES)))
#: A fraction of up to nine digits may follow the seconds, whether or not the layout has one.
_FRACTION: Final = re.compile(r"(?<=:\d\d)[.,](\d{1,9})")
_LAYOUT_FRACTION: Final = re.compile(r"(?<=05)[.,](?:0+|9+)")


def parse_go_time(layout: str, text: str) -> datetime:
    """Parse *text* by *layout*; without a zone it is UTC. Raises ValueError."""
    fraction = _FRACTION.search(text)
    micros = int(fraction[1].ljust(6, "0")[:6]) if fraction else 0
    try:
        parsed = datetime.strptime(_FRACTION.sub("", text), _strptime_format(layout)).replace(microsecond=micros)
    except re.error:
        raise ValueError(f"an element is repeated in the layout {layout!r}") from None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed


@lru_cache(maxsize=64)
def _strptime_format(layout: str) -> str:
    literal = _LAYOUT_FRACTION.sub("", layout).replace("%", "%%")
    return _ELEMENT.sub(lambda match: _DIRECTIVES[match[0]], literal)
