"""Feature gates: their stages and defaults, and the validation of gates that users set.

Bayplan decides as kube-scheduler does with every gate at its default. A gate that affects scheduling can therefore
not be changed. The other gates are for other components: setting one has no effect here.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple


class Gate(NamedTuple):
    #: BETA, ALPHA, DEPRECATED; empty once it is generally available.
    stage: str
    default: bool


def gates(stage: str, default: bool, names: str) -> dict[str, Gate]:
    """The gates named in a text, all alike: how the module of a release lists them."""
    return {name: Gate(stage, default) for name in names.split()}


_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def parse_gates(items: Iterable[str]) -> dict[str, bool]:
    """Parse `Name=true` or `kube:Name=true`; ValueError for the first that is neither."""
    settings: dict[str, bool] = {}
    for item in items:
        name, equals, text = item.rpartition(":")[2].partition("=")
        name, text = name.strip(), text.strip()
        if not equals:
            raise ValueError(f'"{item}" is not a feature gate; write for example {name or "Name"}=true')
        if text not in _BOOLEANS:
            raise ValueError(f'{name} is "{text}"; a feature gate is true or false')
        settings[name] = _BOOLEANS[text]
    return settings


def gate_problem(
    name: str, value: bool, *, release: str, gates: Mapping[str, Gate], scheduler_gates: frozenset[str]
) -> str:
    """Why a gate cannot be set to *value*; empty if it can."""
    gate = gates.get(name)
    if gate is None:
        close = difflib.get_close_matches(name, gates, n=1)
        return f"unrecognized feature gate: {name}" + (f"; did you mean {close[0]}?" if close else "")
    if value == gate.default:
        return ""
    if name in ("AllAlpha", "AllBeta"):
        return f"{name}={_go(value)} would change what the scheduler decides; name the gates of other components"
    if name in scheduler_gates:
        return (
            f"{name}={_go(value)}: Bayplan decides with this gate as it is in {release} by default, "
            f"{_go(gate.default)}"
        )
    return ""


def _go(value: bool) -> str:
    return "true" if value else "false"
