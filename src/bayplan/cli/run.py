"""`bayplan run`: schedule the pods of a cluster."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import bayplan
from bayplan.cli.extender.breaker_option import breaker_option
from bayplan.cli.flags.flag_command import FlagCommand, with_flags
from bayplan.cli.flags.flag_table import FLAGS
from bayplan.cli.inputs import Configuration, accepted, annotations_option, plugin_option, policy_option, registry
from bayplan.cli.plugin_timeout_option import plugin_timeout_option

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.extender import BreakerSettings
    from bayplan.framework import Registry
    from bayplan.process import Settings
    from bayplan.release import Release


def _print_version(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """--version, --version=true and --version=raw, as in kube-scheduler; --version=false is none."""
    if value is None or value.lower() in ("false", "f", "0"):
        return
    from bayplan.release import DEFAULT

    click.echo(f"Bayplan {bayplan.__version__}, Kubernetes v{DEFAULT.version}")
    ctx.exit()


@click.command(name="run", cls=FlagCommand)
@with_flags(FLAGS)
@policy_option
@plugin_option
@plugin_timeout_option
@breaker_option
@click.option("--reload", is_flag=True, help="Reload a file of --plugin when it changes.")
@click.option("--controllers", is_flag=True, help="Also update the status of PodGroups and ElasticQuotas.")
@annotations_option
@click.option(
    "--version",
    is_flag=False,
    flag_value="true",
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    metavar="[true|raw]",
    help="Print the version and exit.",
)
def command(
    policy: str | None,
    plugins: tuple[str, ...],
    plugin_timeout: float | None,
    extender_breaker: BreakerSettings | None,
    controllers: bool,
    simulator_annotations: bool,
    reload: bool,
    **given: Any,
) -> None:
    """Schedule the pods of a cluster.

    Watches the cluster and binds every pod whose schedulerName is that of a profile. Stops on SIGTERM and
    SIGINT: pending binds are finished, and the Lease is released.

    Follows the release of Kubernetes that the API server has, or the one of --emulated-version. The flags are
    those of kube-scheduler; docs/flags.md lists the differences.
    """
    from bayplan.cli.flags.flag_values import FlagValues
    from bayplan.release import DEFAULT

    values = FlagValues(given)
    if values["config"] and policy:
        raise click.UsageError("--config and --policy-config-file exclude each other; give one of them")
    configuration = Configuration.of_file(values["config"] or policy)
    known = registry(plugins)

    def configure(release: Release) -> tuple[Loaded, Registry, Settings]:
        catalogue = known.following(values.with_gates(release))
        loaded = values.apply_to(accepted(configuration, catalogue))
        settings = replace(
            values.settings(loaded),
            plugin_timeout=plugin_timeout,
            extender_breaker=extender_breaker,
            controllers=controllers,
            annotates_results=simulator_annotations,
        )
        return loaded, catalogue, settings

    chosen = values.emulated_release()
    loaded, catalogue, settings = configure(chosen or DEFAULT)
    if values["write-config-to"]:
        _write_configuration(loaded, values["write-config-to"])
        return
    from bayplan.process import main

    again = (lambda known: values.apply_to(configuration.read(known))) if reload else None
    raise SystemExit(
        main(loaded, catalogue, settings, reload=again, configure=None if chosen is not None else configure)
    )


def _write_configuration(loaded: Loaded, file: str) -> None:
    from bayplan.config import to_yaml

    text = to_yaml(loaded.effective())
    try:
        if file == "-":
            sys.stdout.write(text)
        else:
            Path(file).write_text(text)
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be written: {error.strerror}") from error
