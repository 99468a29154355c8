"""FlagCommand: a click command whose options are Go-style flags from a table, shown in groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from bayplan.cli.flags.flag import NO_EFFECT, REFUSED, Flag
from bayplan.cli.flags.go_parsing import LISTS, GoValue, go_text


class FlagOption(click.Option):
    """One flag of the table; its value is None if it is not given."""

    def __init__(self, flag: Flag) -> None:
        self.flag = flag
        names = ["-v", "--v"] if flag.name == "v" else [f"--{flag.name}"]
        optional: dict[str, Any] = {"is_flag": False, "flag_value": "true"} if flag.kind == "bool" else {}
        super().__init__(
            [*names, flag.name.replace("-", "_")],
            type=GoValue(flag.kind),
            default=None,
            multiple=flag.kind in LISTS,
            metavar=flag.metavar or {"bool": "BOOL", "duration": "DURATION", "strings": "LIST"}.get(flag.kind),
            help=self._help(flag),
            **optional,
        )

    @staticmethod
    def _help(flag: Flag) -> str:
        if flag.treatment in (NO_EFFECT, REFUSED):
            return f"{flag.treatment.capitalize()}: {flag.note}."
        text = f"DEPRECATED: {flag.help}" if flag.deprecated else flag.help
        shown = go_text(flag.default)
        return f"{text} [default: {shown}]" if shown not in ("", "[]", "false", "0") else text


class FlagCommand(click.Command):
    """Shows the flags in groups; `_` and `-` in names are equivalent, as in Kubernetes."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        attributes["context_settings"] = {"token_normalize_func": _normalized}
        super().__init__(*args, **attributes)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Bayplan": []}
        for parameter in self.get_params(ctx):
            line = parameter.get_help_record(ctx)
            if line is not None:
                group = parameter.flag.group if isinstance(parameter, FlagOption) else "Bayplan"
                groups.setdefault(group, []).append(line)
        for group, lines in groups.items():
            with formatter.section(f"{group} flags"):
                formatter.write_dl(lines)


def _normalized(name: str) -> str:
    return name.replace("_", "-")


def with_flags(flags: Sequence[Flag]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates the function of a command with options for *flags*."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        options = getattr(function, "__click_params__", [])
        # click reads them in the reverse order, because decorators apply from the bottom.
        function.__click_params__ = [*(FlagOption(flag) for flag in reversed(flags)), *options]  # type: ignore[attr-defined]
        return function

    return decorate
