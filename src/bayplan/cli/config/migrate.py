"""`bayplan config migrate`: converts an older configuration to v1."""

from __future__ import annotations

from collections.abc import Iterator

import click

from bayplan.cli.inputs import FILE, read_text, refuse, shown


@click.command(name="migrate")
@click.argument("file", required=False, type=FILE)
@click.option("--policy-config-file", "policy", type=FILE, metavar="FILE", help="The same as FILE.")
def command(file: str | None, policy: str | None) -> None:
    """Print the v1 equivalent of an older configuration.

    FILE is a KubeSchedulerConfiguration v1beta1, v1beta2 or v1beta3, or a Policy; "-" is standard input.
    Everything that changed or has no equivalent gets a comment. Errors that are also errors in v1 are not
    corrected: run `bayplan config check` on the result. Comments at the end list what changes for this
    configuration with the newest release of Kubernetes.
    """
    from bayplan import config

    if (file is None) == (policy is None):
        raise click.UsageError("give a file, as FILE or with --policy-config-file")
    source = file if file is not None else policy
    assert source is not None  # noqa: S101  the line above
    try:
        migrated = config.migrate(read_text(source), source=shown(source))
    except config.ConfigError as error:
        refuse(error)
    click.echo(migrated, nl=False)
    for line in _comments(migrated, shown(source)):
        click.echo(f"# {line}")


def _comments(text: str, source: str) -> Iterator[str]:
    """What changes from the release before the newest one to the newest."""
    from bayplan.config.release_changes import release_changes
    from bayplan.release import SUPPORTED
    from bayplan.scheduler import default_registry

    older, newer = list(SUPPORTED.values())[-2:]
    changes = release_changes(
        text, source=source, older=default_registry(release=older), newer=default_registry(release=newer)
    )
    if changes:
        yield f"From {older} to {newer.minor}:"
        yield from (f"- {change}" for change in changes)
