"""`bayplan conformance`: compares Bayplan with recordings of kube-scheduler and kube-apiserver."""

from __future__ import annotations

import click


@click.command(name="conformance")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--only", metavar="SEED-OR-NAME", help="Compare only the lines with this seed or name.")
@click.option(
    "--show", default=10, show_default=True, metavar="N", help="How many differing steps to print in full."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(files: tuple[str, ...], only: str | None, show: int, as_json: bool) -> None:
    """Compare Bayplan with recordings of Kubernetes.

    FILES are recordings: JSON lines (.jsonl or .jsonl.gz), each with a kind, the input, and the result of the
    real kube-scheduler (configurations, pods, extenders) or kube-apiserver (requests). Prints a summary, the
    first differences in full, and as the last line "N of M identical". The exit status is 0 only if all are
    identical.
    """
    from bayplan.conformance import Context, RecordingError, run
    from bayplan.scheduler import default_registry

    try:
        report = run(files, Context(default_registry()), only=only)
    except RecordingError as error:
        raise click.ClickException(str(error)) from error
    if only is not None and not report.total:
        raise click.ClickException(f"no line has the seed or name {only!r}")
    click.echo(report.to_json() if as_json else report.to_text(show=show), nl=False)
    raise SystemExit(0 if report.passed else 1)
