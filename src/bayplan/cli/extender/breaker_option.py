"""`--extender-breaker`: the circuit breaker for extenders that do not respond.

An option of Bayplan only, so it is not part of the configuration, which is that of kube-scheduler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bayplan.extender import BreakerSettings


class BreakerType(click.ParamType[Any]):
    """`5` or `5:30s`: the number of consecutive failures, and the pause after them."""

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
            self.fail(f"{value!r}: expected FAILURES[:PAUSE], for example 5 or 5:30s", param, ctx)
        if int(failures) == 0:
            return None
        if not pause:
            return BreakerSettings(int(failures))
        try:
            seconds = Duration.parse(pause).total_seconds()
        except ValueError as error:
            self.fail(f"{value!r}: the pause is not a duration: {error}", param, ctx)
        if seconds <= 0:
            self.fail(f"{value!r}: the pause must be positive", param, ctx)
        return BreakerSettings(int(failures), seconds)


breaker_option = click.option(
    "--extender-breaker",
    type=BreakerType(),
    default="0",
    show_default="off",
    help="Do not call an extender for a PAUSE (30s) after that many consecutive failures.",
)
