"""`bayplan plugin list`: the available plugins, their sources and arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bayplan.cli.inputs import plugin_option, registry
from bayplan.cli.tables import print_table

if TYPE_CHECKING:
    from bayplan.framework import Registration


@click.command(name="list")
@plugin_option
def command(plugins: tuple[str, ...]) -> None:
    """Show every plugin: extension points, weight in the default profile, source, arguments."""
    from bayplan.framework import PluginError

    known = registry(plugins)
    weights = dict(known.default_plugins)
    rows = []
    for name in known.names():
        try:
            registration = known.get(name)
        except PluginError as error:
            rows.append((name, "", "", "", f"does not load: {error}"))
            continue
        weight = str(weights[name] or "-") if name in weights else "off"
        rows.append((name, weight, registration.source, _arguments(registration), ", ".join(registration.points)))
    print_table(("plugin", "weight", "source", "arguments", "extension points"), rows)
    click.echo("\nweight: in the default profile; off: available, but enabled only by a configuration.")


def _arguments(registration: Registration) -> str:
    args = registration.plugin.Args
    return args.__name__ if args is not None else "-"
