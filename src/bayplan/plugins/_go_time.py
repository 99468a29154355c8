"""Times read by a layout as Go writes it: the reference time, Mon Jan 2 15:04:05 MST 2006, in the wanted form."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

#: A piece of a layout → how `strptime` calls it. Longer pieces come first.
_PIECES: Final = {
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
_PIECE: Final = re.compile("|".join(map(re.escape, _PIECES)))
#: A fraction of a second may follow the seconds whether or not the layout has one; nine digits at most.
_FRACTION: Final = re.compile(r"(?<=:\d\d)[.,](\d{1,9})")
_LAYOUT_FRACTION: Final = re.compile(r"(?<=05)[.,](?:0+|9+)")


def parse_go_time(layout: str, text: str) -> datetime:
    """The instant that *text* names by *layout*; without a zone it is UTC. Raises ValueError."""
    fraction = _FRACTION.search(text)
    micros = int(fraction[1].ljust(6, "0")[:6]) if fraction else 0
    try:
        parsed = datetime.strptime(_FRACTION.sub("", text), _strptime_format(layout)).replace(microsecond=micros)
    except re.error:
        raise ValueError(f"something is repeated in the layout {layout!r}") from None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed


@lru_cache(maxsize=64)
def _strptime_format(layout: str) -> str:
    literal = _LAYOUT_FRACTION.sub("", layout).replace("%", "%%")
    return _PIECE.sub(lambda match: _PIECES[match[0]], literal)
