"""`bayplan shadow`: what Bayplan would have done with every pod that a cluster's scheduler places."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from bayplan.cli.cluster_options import hide_slow_plugin_warnings
from bayplan.cli.inputs import FILE, Configuration, accepted, plugin_option, registry, shown
from bayplan.cli.shadow_text import record_line, summary_lines

if TYPE_CHECKING:
    from bayplan.framework import Registry
    from bayplan.process.shadowing import NamedConfiguration
    from bayplan.shadow.shadow_record import ShadowRecord, ShadowSummary

DEFAULT_NAME = "default"


@click.command(name="shadow")
@click.option("--kubeconfig", default="", metavar="FILE", help="The kubeconfig of the cluster.")
@click.option("--context", default="", metavar="NAME", help="The context of the kubeconfig.")
@click.option(
    "--config",
    "config_files",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="A configuration to decide with; kube-scheduler's defaults without it. Repeatable.",
)
@plugin_option
@click.option(
    "--out", "out_file", default="", metavar="FILE", help="Write a line of JSON for every pod; - is stdout."
)
@click.option(
    "--read",
    "read_files",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Summarize files of --out instead of reading a cluster. Repeatable.",
)
@click.option(
    "--for", "seconds", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Stop after this time."
)
@click.option("--pods", "n_pods", type=click.IntRange(1), metavar="N", help="Stop after this many pods.")
@click.option(
    "--settle",
    "settle_seconds",
    type=click.FloatRange(0),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for binds that were decided earlier and are seen later.",
)
@click.option(
    "--batching/--no-batching",
    "batches",
    default=True,
    show_default=True,
    help="Whether the scheduler has the feature gate OpportunisticBatching.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve metrics on 127.0.0.1 meanwhile; 0 picks a free port.",
)
@click.option(
    "-o", "--output", type=click.Choice(("text", "json")), default="text", show_default=True, help="The format."
)
@click.option("--all", "shows_all", is_flag=True, help="Show every pod, not only unexplained disagreements.")
@click.option("-v", "verbosity", default=0, type=int, metavar="LEVEL", help="How much to log.")
def command(
    config_files: tuple[str, ...],
    plugins: tuple[str, ...],
    out_file: str,
    read_files: tuple[str, ...],
    output: str,
    shows_all: bool,
    verbosity: int,
    **given: Any,
) -> None:
    """Compare Bayplan with the scheduler of a cluster, pod by pod.

    Watches the cluster and writes nothing to it. For every pod that the cluster's scheduler places: where Bayplan
    would have placed it, and if on another node, why. Prints a summary on SIGINT, or at the limit of --for or
    --pods.

    \b
    bayplan shadow --kubeconfig ~/.kube/config --out pods.jsonl
    bayplan shadow --config today.yaml --config tomorrow.yaml --pods 1000
    bayplan shadow --read pods.jsonl
    """
    if read_files:
        _print_summary(_summary_of_files(read_files), output)
        return
    from bayplan.observe import klog
    from bayplan.process.shadowing import ShadowSettings, main

    klog.set_up(verbosity)
    hide_slow_plugin_warnings()
    catalogue = registry(plugins)
    configurations = _configurations(config_files, catalogue)
    shown_records = output == "text" and out_file != "-"

    def show(record: ShadowRecord) -> None:
        if shown_records and (shows_all or record.class_ == "real"):
            click.echo(record_line(record))

    with _opened(out_file) as file:
        summary = main(configurations, catalogue, ShadowSettings(**given), output=file, on_record=show)
    if summary is None:
        raise SystemExit(1)
    if out_file != "-":
        _print_summary(summary, output)


def _configurations(files: tuple[str, ...], catalogue: Registry) -> list[NamedConfiguration]:
    """Named after their files; files of the same name by their whole paths."""
    from bayplan.process.shadowing import NamedConfiguration

    if not files:
        return [NamedConfiguration(DEFAULT_NAME, accepted(Configuration.of_file(None), catalogue))]
    if len(set(files)) != len(files):
        raise click.UsageError("the same --config is given twice")
    names = [Path(shown(file)).name for file in files]
    if len(set(names)) != len(names):
        names = [shown(file) for file in files]
    found = []
    for name, file in zip(names, files, strict=True):
        loaded = accepted(Configuration.of_file(file), catalogue)
        if loaded.config.extenders:
            click.echo(f"{name}: its extenders are not called here", err=True)
        found.append(NamedConfiguration(name, loaded))
    return found


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO | None]:
    if not file:
        yield None
    elif file == "-":
        yield sys.stdout.buffer
    else:
        try:
            opened = Path(file).open("wb")  # noqa: SIM115  closed below
        except OSError as error:
            raise click.ClickException(f"{file}: cannot be written: {error.strerror}") from error
        with opened:
            yield opened


def _summary_of_files(files: tuple[str, ...]) -> ShadowSummary:
    from bayplan.shadow.shadow_record import RecordFileError, SummaryBuilder, read_records

    summary = SummaryBuilder()
    for file in files:
        try:
            with click.open_file(file, "rb") as lines:
                for record in read_records(lines, shown(file)):
                    summary.add(record)
        except RecordFileError as error:
            raise click.ClickException(str(error)) from error
        except OSError as error:
            raise click.ClickException(f"{shown(file)}: cannot be read: {error.strerror}") from error
    return summary.summary()


def _print_summary(summary: ShadowSummary, output: str) -> None:
    if output == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(summary), indent=2).decode())
        return
    for line in summary_lines(summary):
        click.echo(line)
