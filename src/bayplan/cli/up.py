"""`bayplan up`: runs a cluster of simulated nodes in one process, for kubectl."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

import click

from bayplan.cli.emulated_version_option import chosen_release
from bayplan.cli.inputs import (
    FILE,
    Configuration,
    accepted,
    annotations_option,
    plugin_option,
    read_text,
    registry,
    shown,
)
from bayplan.cli.plugin_timeout_option import plugin_timeout_option
from bayplan.cli.private_files import state_folder, write_private

if TYPE_CHECKING:
    from bayplan.apiserver.cluster import Cluster
    from bayplan.apiserver.simulation.simulated_devices import SimulatedDevices
    from bayplan.release import Release

WORDS: Final = "bayplan.cli.up.words"
#: The first line of a kubeconfig that bayplan wrote and may overwrite.
MARK: Final = "# Written by bayplan up; overwritten at every start."


class _UpCommand(click.Command):
    """Remembers the words that it was called with, for the process in the background."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[WORDS] = [word for word in args if word != "--detach"]
        return super().parse_args(ctx, args)


@click.command(name="up", cls=_UpCommand)
@click.option(
    "--nodes",
    metavar="N|FILE",
    help="The number of nodes (8 cpu, 32Gi each), or a file of Node objects. [default: 3; 0 with a snapshot]",
)
@click.option(
    "--zones", default=3, show_default=True, type=click.IntRange(1), help="The number of zones of the N nodes."
)
@click.option(
    "--devices",
    multiple=True,
    metavar="NAME=COUNT|FILE",
    help="Devices of every node, as in gpu=8, or a YAML file that describes them. Repeatable.",
)
@click.option(
    "--kubernetes",
    metavar="VERSION",
    help="The release of Kubernetes that the API server and the scheduler follow: 1.36 or 1.37.",
)
@click.option("--config", "config_file", type=FILE, metavar="FILE", help="The scheduler's configuration.")
@plugin_option
@plugin_timeout_option
@annotations_option
@click.option(
    "--reload/--no-reload",
    default=True,
    show_default=True,
    help="Reload a file of --plugin when it changes.",
)
@click.option("--no-scheduler", is_flag=True, help="Do not start a scheduler.")
@click.option(
    "-f",
    "--filename",
    "manifests",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Manifests to apply at startup. Repeatable.",
)
@click.option(
    "--from",
    "snapshots",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Start with a snapshot: of bayplan capture, or of kubectl get … -o yaml|json. Repeatable.",
)
@click.option(
    "--from-cluster",
    "source_context",
    metavar="CONTEXT",
    help="Start with what scheduling reads of another cluster: a context of your kubeconfig. It is only read.",
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Store the objects of the cluster here; without it they are lost at the end.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=0, type=click.IntRange(0, 65535), help="The port to listen on; 0 picks a free one."
)
@click.option(
    "--write-kubeconfig",
    "kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where to write the kubeconfig; a file that bayplan did not write is never overwritten.",
)
@click.option(
    "--merge-kubeconfig",
    is_flag=True,
    help="Also add a context called bayplan to your own kubeconfig, and remove it at the end.",
)
@click.option("--detach", is_flag=True, help="Run in the background; see 'bayplan status' and 'bayplan down'.")
@click.option(
    "-v",
    "--v",
    "verbosity",
    type=click.IntRange(0),
    metavar="LEVEL",
    help="How much the scheduler logs, 0 to 10; by default warnings, errors, and what plugins log.",
)
@click.option("--plain", is_flag=True, help="Print plain lines, even on a terminal.")
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Run a cluster of simulated nodes in this process.

    An API server for kubectl and other clients, simulated nodes, the controllers of Deployments, Jobs and so on,
    and Bayplan as the scheduler. Stop it with Ctrl-C, or with 'bayplan down' if it runs in the background.
    """
    from bayplan.cli.merged_context import check_mergeable, user_kubeconfig

    target = given["kubeconfig"] or state_folder() / "kubeconfig"
    _check_ours(target)
    merged = user_kubeconfig() if given["merge_kubeconfig"] else None
    if merged is not None:
        check_mergeable(merged)
    if given["detach"]:
        _detach(context, target, merged)
        return
    from bayplan.process.event_loops import new_event_loop

    runner = asyncio.Runner(loop_factory=new_event_loop)
    with _logs(given["verbosity"]), _reload_messages(), _errors_as_messages(), runner:
        runner.run(_up(_cluster(given), target, merged, given))


def _check_ours(target: Path) -> None:
    if target.exists() and not target.read_text(errors="replace").startswith(MARK):
        raise click.ClickException(
            f"{target} was not written by bayplan, so it is not overwritten; "
            "choose another file with --write-kubeconfig"
        )


def _detach(context: click.Context, target: Path, merged: Path | None) -> None:
    from bayplan.cli.detached import start

    cluster = start(context.meta[WORDS], target, merged)
    click.echo(f"The cluster is up at {cluster.server} in the background (process {cluster.pid}).\n")
    click.echo(_instructions(target, merged))
    click.echo("\nbayplan status shows its state, bayplan down stops it.")


def _cluster(given: dict[str, Any]) -> Callable[[], Cluster]:
    """Makes the cluster from what was given, which has been checked."""
    from bayplan.apiserver.cluster import Cluster
    from bayplan.apiserver.simulation.manifest_applier import read_manifests
    from bayplan.apiserver.simulation.simulated_nodes import read_nodes

    known = registry(given["plugins"], _release(given["kubernetes"]))
    configuration = Configuration.of_file(given["config_file"])
    snapshot = _snapshot(given["snapshots"], given["source_context"])
    nodes: Any = given["nodes"] or ("0" if snapshot else "3")
    nodes = int(nodes) if nodes.isdigit() else read_nodes(read_text(nodes), shown(nodes))
    manifests = [each for file in given["manifests"] for each in read_manifests(read_text(file), shown(file))]
    return partial(
        Cluster,
        nodes,
        zones=given["zones"],
        devices=_devices(given["devices"]),
        configuration=accepted(configuration, known),
        registry=known,
        reload=configuration.read if given["reload"] else None,
        manifests=manifests,
        snapshot=snapshot,
        scheduler=False,  # it has a thread of its own
        data=given["data"],
        listen=(given["host"], given["port"]),
        annotates_results=given["simulator_annotations"],
    )


def _snapshot(files: Sequence[str], context: str | None) -> list[dict[str, Any]]:
    """The objects to start with: of files, or of another cluster."""
    from bayplan.explain.object_files import ObjectFileError, read_objects

    try:
        found = [dict(each) for file in files for each in read_objects(read_text(file), shown(file))]
    except ObjectFileError as error:
        raise click.ClickException(str(error)) from error
    if context is None:
        return found
    from bayplan.cli.cluster_options import ClusterQuestion
    from bayplan.explain.snapshots.snapshot_writing import make_snapshot

    question = ClusterQuestion((), "", context, None, (), None)
    return [*found, *make_snapshot(question.read().objects).items]


def _release(version: str | None) -> Release | None:
    return None if version is None else chosen_release(version, "--kubernetes")


def _devices(given: Sequence[str]) -> list[SimulatedDevices]:
    from bayplan.apiserver.simulation.simulated_devices import parse_devices, read_devices

    found: list[SimulatedDevices] = []
    for each in given:
        is_file = each == "-" or Path(each).exists()
        found += read_devices(read_text(each), shown(each)) if is_file else [parse_devices(each)]
    return found


async def _up(make: Callable[[], Cluster], target: Path, merged: Path | None, given: dict[str, Any]) -> None:
    from bayplan.apiserver.cluster_process import ClusterProcess
    from bayplan.cli.live_view import show

    with ExitStack() as until_stopped:

        def started(cluster: Cluster) -> None:
            until_stopped.enter_context(_context_in(merged, cluster))
            _write(target, cluster)
            n_nodes = len(cluster.kubelets.known_nodes())
            for line in cluster.left_out:
                click.echo(f"Left out: {line}", err=True)
            click.echo(
                f"The cluster is up at {cluster.address.url} with {n_nodes} simulated nodes. "
                f"Stop it with Ctrl-C.\n\nIn another terminal:\n{_instructions(target, merged)}\n"
            )

        process = ClusterProcess(make, schedules=not given["no_scheduler"], plugin_timeout=given["plugin_timeout"])
        await process.run(started, partial(show, plain=given["plain"] or not sys.stdout.isatty()))
    click.echo("Stopped.")


@contextmanager
def _context_in(merged: Path | None, cluster: Cluster) -> Iterator[None]:
    """Our context in the user's kubeconfig, if there is to be one."""
    if merged is None:
        yield
        return
    from bayplan.cli.merged_context import add_context, remove_context

    add_context(merged, cluster.address.kubeconfig())
    try:
        yield
    finally:
        try:
            remove_context(merged, cluster.address.url)
        except click.ClickException as error:
            click.echo(f"The context bayplan is still in {merged}: {error.message}", err=True)


@contextmanager
def _errors_as_messages() -> Iterator[None]:
    """Turns errors that keep a cluster from starting into one-line messages."""
    from bayplan.apiserver.simulation.manifest_applier import ManifestError
    from bayplan.apiserver.storage.sqlite_journal import JournalError
    from bayplan.server.serving_certificates import ServingError

    try:
        yield
    except (JournalError, ManifestError, ServingError) as error:
        raise click.ClickException(str(error)) from error


class _StandardError:
    """Standard error as it is when a line is written: the live view puts something else in its place."""

    closed = property(lambda self: sys.stderr.closed)

    def write(self, text: str) -> None:
        sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


@contextmanager
def _logs(verbosity: int | None) -> Iterator[None]:
    from bayplan.observe import klog

    root, own = logging.getLogger(), logging.getLogger("bayplan")
    before = root.handlers[:], root.level, own.level
    klog.set_up(verbosity or 0, err=cast("TextIO", _StandardError()))
    own.setLevel(logging.WARNING if verbosity is None else logging.NOTSET)
    try:
        yield
    finally:
        root.handlers[:], level, own_level = before
        root.setLevel(level)
        own.setLevel(own_level)


@contextmanager
def _reload_messages() -> Iterator[None]:
    """Prints the messages about reloaded files."""
    logger, handler = logging.getLogger("bayplan.reload"), logging.StreamHandler()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = True


def _write(target: Path, cluster: Cluster) -> None:
    try:
        write_private(target, f"{MARK}\n{cluster.address.kubeconfig()}")
    except OSError as error:
        raise click.ClickException(f"cannot write the kubeconfig {target}: {error.strerror}") from error


def _instructions(target: Path, merged: Path | None) -> str:
    use = f"export KUBECONFIG={target}" if merged is None else "kubectl config use-context bayplan"
    create = "kubectl create deployment web --image=nginx --replicas=3 && kubectl get pods -o wide -w"
    return f"  {use}\n  {create}"
