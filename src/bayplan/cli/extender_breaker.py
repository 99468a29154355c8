"""`--extender-breaker`: when to leave an extender alone that does not answer.

Bayplan's own, and so not in the configuration, which is kube-scheduler's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bayplan.extender import BreakerSettings


class BreakerType(click.ParamType[Any]):
    """`5` or `5:30s`: after so many failures in a row, for so long."""

    name = "FAILURES[:PAUSE]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> BreakerSettings | None:
        from bayplan.config.duration import Duration
        from bayplan.extender import BreakerSettings

        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        failures, _, pause = value.partition(":")
        if not failures.isdecimal():
            self.fail(f"{value!r}: FAILURES[:PAUSE] is expected, for example 5 or 5:30s", param, ctx)
        if int(failures) == 0:
            return None
        if not pause:
            return BreakerSettings(int(failures))
        try:
            seconds = Duration.parse(pause).total_seconds()
        except ValueError as error:
            self.fail(f"{value!r}: the pause is no duration: {error}", param, ctx)
        if seconds <= 0:
            self.fail(f"{value!r}: the pause must be longer than nothing", param, ctx)
        return BreakerSettings(int(failures), seconds)


breaker_option = click.option(
    "--extender-breaker",
    type=BreakerType(),
    default="0",
    show_default="off",
    help="Leave an extender alone for a PAUSE (30s) after so many failures in a row.",
)
