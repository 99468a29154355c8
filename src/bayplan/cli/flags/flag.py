"""Flag: one flag of `bayplan run` as data."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from bayplan.config.duration import Duration

HONOURED: Final = "honoured"
NO_EFFECT: Final = "no effect"
REFUSED: Final = "refused"


class Flag(NamedTuple):
    name: str
    group: str
    #: One of `go_parsing.READERS`.
    kind: str
    help: str
    default: Any = ""
    treatment: str = HONOURED
    #: Why it is refused or has no effect; or how it differs from that of kube-scheduler.
    note: str = ""
    deprecated: bool = False
    #: The placeholder for the value in the help.
    metavar: str = ""


def seconds(count: float) -> Duration:
    return Duration.seconds(count)


def group_of(title: str, *flags: Flag) -> tuple[Flag, ...]:
    return tuple(each._replace(group=title) for each in flags)


def flag(
    name: str, kind: str, help: str, default: Any = None, treatment: str = HONOURED, note: str = "", **more: Any
) -> Flag:
    empty = {"bool": False, "int": 0, "Level": 0}.get(kind, "" if kind in ("string", "quantity") else ())
    return Flag(name, "", kind, help, empty if default is None else default, treatment, note, **more)
