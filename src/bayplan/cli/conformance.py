"""`bayplan conformance`: compares Bayplan with recordings of kube-scheduler and kube-apiserver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bayplan.cli.emulated_version_option import emulated_version_option

if TYPE_CHECKING:
    from bayplan.release import Release


@click.command(name="conformance")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--only", metavar="SEED-OR-NAME", help="Compare only the lines with this seed or name.")
@click.option(
    "--show", default=10, show_default=True, metavar="N", help="How many differing steps to print in full."
)
@emulated_version_option("Compare all lines with this release, whatever they were recorded with:")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(files: tuple[str, ...], only: str | None, show: int, release: Release | None, as_json: bool) -> None:
    """Compare Bayplan with recordings of Kubernetes.

    FILES are recordings: JSON lines (.jsonl or .jsonl.gz), each with a kind, the input, and the result of the
    real kube-scheduler (configurations, pods, extenders) or kube-apiserver (requests). Every line is compared
    with the release of Kubernetes that it was recorded with. Prints a summary by release and kind, the first
    differences in full, and as the last line "N of M identical". The exit status is 0 only if all are identical.
    """
    from bayplan.conformance import Context, RecordingError, run
    from bayplan.release import DEFAULT
    from bayplan.scheduler import default_registry

    context = Context(default_registry(release=release or DEFAULT), follows_lines=release is None)
    try:
        report = run(files, context, only=only)
    except RecordingError as error:
        raise click.ClickException(str(error)) from error
    if only is not None and not report.total:
        raise click.ClickException(f"no line has the seed or name {only!r}")
    click.echo(report.to_json() if as_json else report.to_text(show=show), nl=False)
    raise SystemExit(0 if report.passed else 1)
