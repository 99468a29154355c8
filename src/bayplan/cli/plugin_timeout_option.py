"""`--plugin-timeout`: the longest time that a call of a plugin may take.

An option of Bayplan only, so it is not part of the configuration, which is that of kube-scheduler.
"""

from __future__ import annotations

from typing import Any

import click


class SecondsType(click.ParamType[Any]):
    """`5s`, `500ms`: seconds; 0 for none."""

    name = "DURATION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | None:
        from bayplan.config.duration import Duration

        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        try:
            seconds = Duration.parse(value).total_seconds()
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if seconds < 0:
            self.fail(f"{value!r}: must not be negative; 0 for no limit", param, ctx)
        return seconds or None


plugin_timeout_option = click.option(
    "--plugin-timeout",
    type=SecondsType(),
    default="0s",
    show_default="no limit",
    help="Interrupt a call of a plugin of your own that takes longer; the attempt then ends with an error.",
)
