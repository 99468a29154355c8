"""Table cells: ages, label selectors, shortened lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from bayplan.apiserver.validation.selector_validation import selector_text
from bayplan.model.kube_object import LabelSelector
from bayplan.model.label_selectors import SelectorError, compile_selector
from bayplan.model.times import parse_time

Json = dict[str, Any]
Cells = list[Any]

NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"
#: At most this many addresses or ports are shown.
_SHOWN: Final = 3
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY


def human_duration(seconds: float) -> str:
    """Two or three significant figures: 119s, 9m59s, 179m, 7h59m, 47h, 7d23h, 729d, 7y364d, 8y."""
    whole = int(seconds)
    if whole < 0:
        # Clocks may differ by a second.
        return "0s" if whole == -1 else "<invalid>"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    for limit, unit, name, smaller, smaller_name in (
        (10 * _MINUTE, _MINUTE, "m", 1, "s"),
        (3 * _HOUR, _MINUTE, "m", 0, ""),
        (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
        (2 * _DAY, _HOUR, "h", 0, ""),
        (8 * _DAY, _DAY, "d", _HOUR, "h"),
        (2 * _YEAR, _DAY, "d", 0, ""),
        (8 * _YEAR, _YEAR, "y", _DAY, "d"),
    ):
        if whole < limit:
            rest = whole % unit // smaller if smaller else 0
            return f"{whole // unit}{name}{rest}{smaller_name}" if rest else f"{whole // unit}{name}"
    return f"{whole // _YEAR}y"


def since(time: str | None, now: float) -> str:
    return human_duration(now - parse_time(time).timestamp()) if time else UNKNOWN


def age(obj: Json, now: float) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now)


def labels(given: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={given[key]}" for key in sorted(given)) if given else NONE


def selector(given: Json | None) -> str:
    """A label selector as `kubectl -l` takes it."""
    try:
        compile_selector(msgspec.convert(given, LabelSelector) if given is not None else None)
    except (SelectorError, msgspec.ValidationError):
        return "<error>"
    return selector_text(given) or NONE


def containers(pod_spec: Json) -> Cells:
    """Two cells: names and images."""
    listed = pod_spec.get("containers") or ()
    names = ",".join(container.get("name", "") for container in listed)
    return [names, ",".join(container.get("image", "") for container in listed)]


def shortened(items: Sequence[str], when_empty: str) -> str:
    """The first three, and the number of the others."""
    text = ",".join(items[:_SHOWN])
    if len(items) > _SHOWN:
        return f"{text} + {len(items) - _SHOWN} more..."
    return text or when_empty


def condition_is_true(conditions: Iterable[Json] | None, wanted: str) -> bool:
    found = next((each for each in conditions or () if each.get("type") == wanted), {})
    return found.get("status") == "True"
