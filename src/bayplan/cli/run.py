"""`bayplan run`: schedule the pods of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bayplan.cli.inputs import FILE, load, plugin_option, policy_option, registry

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.framework import Registry


@click.command(name="run")
@click.option("--config", "config_file", type=FILE, metavar="FILE", help="A KubeSchedulerConfiguration.")
@policy_option
@plugin_option
@click.option("--kubeconfig", default="", metavar="FILE", help="How to reach the API server.")
@click.option("--master", default="", metavar="URL", help="The API server's address, instead of kubeconfig's.")
@click.option(
    "--leader-elect",
    type=bool,
    default=None,
    is_flag=False,
    flag_value=True,
    metavar="BOOL",
    help="Schedule only while holding the Lease; as in the configuration by default.",
)
@click.option(
    "-v", "--v", "verbosity", default=2, show_default=True, metavar="LEVEL", help="How much to log, 0 to 10."
)
def command(
    config_file: str | None,
    policy: str | None,
    plugins: tuple[str, ...],
    kubeconfig: str,
    master: str,
    leader_elect: bool | None,
    verbosity: int,
) -> None:
    """Schedule the pods of a cluster.

    Watches the cluster, and binds every pod whose schedulerName is that of one of the profiles. Stops on SIGTERM
    and SIGINT: binds under way are finished, and the Lease is given up.
    """
    if config_file and policy:
        raise click.UsageError(
            "--config and --policy-config-file say the same thing in two ways; give one of them"
        )
    catalogue = registry(plugins)
    loaded = _configuration(config_file or policy, catalogue)
    from bayplan.process import Settings, main

    settings = Settings(
        kubeconfig=kubeconfig or loaded.config.client_connection.kubeconfig,
        master=master,
        leader_elect=loaded.config.leader_election.leader_elect if leader_elect is None else leader_elect,
        verbosity=verbosity,
    )
    raise SystemExit(main(loaded, catalogue, settings))


def _configuration(file: str | None, catalogue: Registry) -> Loaded:
    if file is not None:
        return load(file, catalogue)
    from bayplan import config

    return config.default(catalogue)
