"""`bayplan up`: a cluster of simulated nodes in one process, for kubectl."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from bayplan.cli.inputs import FILE, Configuration, accepted, plugin_option, read_text, registry, shown

if TYPE_CHECKING:
    from bayplan.apiserver.cluster import Cluster

#: The first line of a kubeconfig that we wrote, and may write again.
MARK: Final = "# Written by bayplan up; written anew at every start."
NEEDS: Final = "kubernetes_validate"


@click.command(name="up")
@click.option(
    "--nodes",
    default="3",
    show_default=True,
    metavar="N|FILE",
    help="How many nodes of 8 cpu and 32Gi, or a file of Node objects.",
)
@click.option(
    "--zones", default=3, show_default=True, type=click.IntRange(1), help="Zones to spread N nodes over."
)
@click.option("--config", "config_file", type=FILE, metavar="FILE", help="The scheduler's configuration.")
@plugin_option
@click.option(
    "--reload/--no-reload",
    default=True,
    show_default=True,
    help="Load a file of --plugin anew when it is saved.",
)
@click.option("--no-scheduler", is_flag=True, help="Leave the scheduling to another scheduler.")
@click.option(
    "-f",
    "--filename",
    "manifests",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Manifests to apply at the start. Repeatable.",
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the cluster's objects here; without it they are gone at the end.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=0, type=click.IntRange(0, 65535), help="The port to listen on; 0 takes a free one."
)
@click.option(
    "--write-kubeconfig",
    "kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where the kubeconfig goes; one that is not ours is never overwritten.",
)
@click.option("--plain", is_flag=True, help="Print lines, also on a terminal.")
def command(**given: Any) -> None:
    """Bring up a cluster of simulated nodes in this process.

    An API server for kubectl and every other client, nodes that run pods without running anything, the controllers
    of Deployments, Jobs and the like, and Bayplan as the scheduler. Ctrl-C ends it.
    """
    _check_installed()
    target = given["kubeconfig"] or _default_kubeconfig()
    _check_ours(target)
    with _reloads_told(), _failures_told():
        asyncio.run(_up(_cluster(given), target, given))


def _check_installed() -> None:
    from importlib.util import find_spec

    if find_spec(NEEDS) is None:
        raise click.ClickException("the API server needs Kubernetes' schemas: pip install 'bayplan[cluster]'")


def _default_kubeconfig() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "bayplan" / "kubeconfig"


def _check_ours(target: Path) -> None:
    if target.exists() and not target.read_text(errors="replace").startswith(MARK):
        raise click.ClickException(
            f"{target} is not a kubeconfig that bayplan wrote, so it stays as it is; "
            "say another place with --write-kubeconfig"
        )


def _cluster(given: dict[str, Any]) -> Cluster:
    from bayplan.apiserver.cluster import Cluster
    from bayplan.apiserver.manifests import read_manifests
    from bayplan.apiserver.simulated_nodes import read_nodes

    known = registry(given["plugins"])
    configuration = Configuration.of_file(given["config_file"])
    nodes: Any = given["nodes"]
    nodes = int(nodes) if nodes.isdigit() else read_nodes(read_text(nodes), shown(nodes))
    manifests = [each for file in given["manifests"] for each in read_manifests(read_text(file), shown(file))]
    return Cluster(
        nodes,
        zones=given["zones"],
        configuration=accepted(configuration, known),
        registry=known,
        reload=configuration.read if given["reload"] else None,
        manifests=manifests,
        scheduler=not given["no_scheduler"],
        data=given["data"],
        listen=(given["host"], given["port"]),
    )


async def _up(cluster: Cluster, target: Path, given: dict[str, Any]) -> None:
    from bayplan.cli.live_view import show

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with cluster:
        _write(target, cluster)
        _tell(cluster, target)
        await show(cluster, stop, plain=given["plain"] or not sys.stdout.isatty())
    click.echo("Stopped.")


@contextmanager
def _failures_told() -> Iterator[None]:
    """What keeps a cluster from starting, in a line."""
    from bayplan.apiserver.journal import JournalError
    from bayplan.apiserver.manifests import ManifestError
    from bayplan.server.tls import ServingError

    try:
        yield
    except (JournalError, ManifestError, ServingError) as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def _reloads_told() -> Iterator[None]:
    """What becomes of a saved file is for the one who saved it."""
    logger, handler = logging.getLogger("bayplan.reload"), logging.StreamHandler()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _write(target: Path, cluster: Cluster) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Readable for us alone from the first byte on: it holds the token.
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{MARK}\n{cluster.address.kubeconfig()}")
        # In one step: whoever waits for the file never reads half of it.
        os.replace(name, target)
    except OSError as error:
        raise click.ClickException(f"cannot write the kubeconfig {target}: {error.strerror}") from error


def _tell(cluster: Cluster, target: Path) -> None:
    n_nodes = len(cluster.kubelets.known_nodes())
    click.echo(f"The cluster is up at {cluster.address.url} with {n_nodes} simulated nodes. Ctrl-C ends it.\n")
    click.echo("In another terminal:")
    click.echo(f"  export KUBECONFIG={target}")
    click.echo("  kubectl create deployment web --image=nginx --replicas=3 && kubectl get pods -o wide -w\n")
