"""`bayplan plugin check`: checks that a plugin keeps the contract."""

from __future__ import annotations

from typing import Any

import click

from bayplan.cli.plugin.reference import load_classes


@click.command(name="check")
@click.argument("reference", metavar="FILE[:CLASS]")
@click.option("--args", "args_file", type=click.Path(exists=True, dir_okay=False), help="Its arguments, as YAML.")
def command(reference: str, args_file: str | None) -> None:
    """Check that the plugin CLASS in FILE, or every plugin in FILE, keeps the contract.

    Inspects the class, then runs it alone and among the default plugins, on a variety of nodes and pods.
    """
    from bayplan.testing.plugin_check import find_faults

    n_faults = 0
    for registration in load_classes(reference):
        plugin = registration.plugin
        faults = list(find_faults(plugin, _args(args_file)))
        n_faults += len(faults)
        points = ", ".join(registration.points)
        if faults:
            click.echo(f"{plugin.name} ({points}): {len(faults)} {'fault' if len(faults) == 1 else 'faults'}")
            for fault in faults:
                click.echo(f"- {fault}")
        else:
            click.echo(f"{plugin.name} ({points}): fine")
    raise SystemExit(1 if n_faults else 0)


def _args(file: str | None) -> dict[str, Any] | None:
    if file is None:
        return None
    import yaml

    from bayplan.cli.inputs import read_text

    try:
        args = yaml.safe_load(read_text(file))
    except yaml.YAMLError as error:
        raise click.ClickException(f"{file}: not YAML: {error}") from error
    if not isinstance(args, dict):
        raise click.ClickException(f"{file}: the arguments of a plugin must be a mapping")
    return args
