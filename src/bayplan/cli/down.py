"""`bayplan down`: stops the cluster that `bayplan up --detach` started."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Final

import click

#: A cluster stops within a second or two; a plugin that blocks may keep it from stopping.
_PATIENCE_SECONDS: Final = 30.0


@click.command(name="down")
def command() -> None:
    """Stop the cluster that runs in the background.

    What it stored with --data stays; what it added to your kubeconfig with --merge-kubeconfig is removed.
    """
    from bayplan.cli.detached import forget, load

    cluster = load()
    if cluster is None:
        click.echo("No cluster is running in the background.")
        return
    if not cluster.is_running:
        forget(cluster)
        click.echo(
            f"No cluster is running in the background: the process {cluster.pid} has ended by itself. "
            f"Its log: {cluster.log}"
        )
        return
    # It may end by itself at any time.
    with suppress(ProcessLookupError):
        os.kill(cluster.pid, signal.SIGTERM)
    is_killed = not cluster.wait(_PATIENCE_SECONDS)
    if is_killed:
        with suppress(ProcessLookupError):
            os.kill(cluster.pid, signal.SIGKILL)
        cluster.wait(_PATIENCE_SECONDS)
    forget(cluster)
    how = f" It did not stop within {_PATIENCE_SECONDS:.0f} s and was killed." if is_killed else ""
    click.echo(f"Stopped the cluster at {cluster.server} (process {cluster.pid}).{how}")
