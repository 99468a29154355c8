"""`bayplan capture`: a snapshot of a cluster with what scheduling reads, and nothing else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayplan.cli.cluster_options import ClusterQuestion, reading_options

if TYPE_CHECKING:
    from bayplan.explain.snapshots.snapshot_writing import ClusterSnapshot


@click.command(name="capture")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where to write the snapshot; standard output without it.",
)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["yaml", "json"]),
    default="yaml",
    show_default=True,
    help="The form.",
)
@click.option("--anonymise", is_flag=True, help="Rename everything, and drop annotations.")
@reading_options
def command(out: Path | None, form: str, anonymise: bool, **given: Any) -> None:
    """Write what scheduling reads of a cluster to a file.

    Nothing is written to the cluster. The file has no Secrets, no environment variables and no commands. Other
    commands read it with --snapshot, and 'bayplan up --from' starts a cluster with it. With --snapshot, what
    kubectl has printed is reduced in the same way.
    """
    from bayplan.explain.snapshots.snapshot_writing import make_snapshot

    snapshot = make_snapshot(ClusterQuestion.of(given).read().objects, anonymous=anonymise)
    text = snapshot.text(form)
    if out is None:
        click.echo(text, nl=False)
    else:
        _write(out, text)
    for line in _summary(snapshot):
        click.echo(line, err=True)


def _write(out: Path, text: str) -> None:
    from bayplan.cli.private_files import write_private

    try:
        write_private(out, text)
    except OSError as error:
        raise click.ClickException(f"{out}: cannot be written: {error.strerror or error}") from error


def _summary(snapshot: ClusterSnapshot) -> list[str]:
    counts = Counter(str(item["kind"]) for item in snapshot.items)
    captured = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "nothing"
    return [f"Captured: {captured}.", *(f"Left out: {each}." for each in snapshot.left_out)]
