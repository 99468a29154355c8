"""Connects to the cluster of a kubeconfig and reads it, with progress on a terminal."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bayplan.client import ClusterAccess
    from bayplan.config import Loaded
    from bayplan.explain.cluster_objects import ClusterObjects
    from bayplan.framework import Registry


def read_cluster(
    access: ClusterAccess, loaded: Loaded, registry: Registry, about: tuple[str, str]
) -> ClusterObjects:
    """The objects that the plugins of *loaded* read; an error of the connection ends the command.

    *about*: the namespace and the name of the pod that the question is about, if it is about one.
    """
    from bayplan.client import ClientError

    try:
        return asyncio.run(_read(access, loaded, registry, about))
    except (ClientError, TimeoutError) as error:
        raise click.ClickException(f"cannot read the cluster: {error}") from error


async def _read(
    access: ClusterAccess, loaded: Loaded, registry: Registry, about: tuple[str, str]
) -> ClusterObjects:
    from bayplan.client import HttpTransport, KubeClient
    from bayplan.clock import SystemClock
    from bayplan.core import SchedulerCore
    from bayplan.explain.cluster_reader import ClusterReader

    clock = SystemClock()
    client = KubeClient(HttpTransport(access, clock, user_agent="bayplan-explain"), clock)
    progress = ReadingProgress()
    try:
        core = SchedulerCore(loaded, registry, clock=clock, schedules_pods=False)
        return await ClusterReader(client, access.server, on_read=progress.show).read(core, *about)
    finally:
        progress.end()
        await client.close()


class ReadingProgress:
    """One line on the terminal: how much has been read."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._is_shown = sys.stderr.isatty()

    def show(self, resource: str, count: int) -> None:
        self._counts[resource] = count
        if self._is_shown:
            text = ", ".join(f"{count} {name}" for name, count in self._counts.items() if count)
            click.echo(f"\r\x1b[KReading: {text}"[:160], nl=False, err=True)

    def end(self) -> None:
        if self._is_shown:
            click.echo("\r\x1b[K", nl=False, err=True)
