"""`bayplan status`: whether the cluster of `bayplan up --detach` runs, and how it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from bayplan.cli.detached import DetachedCluster

_PATIENCE_SECONDS: Final = 5.0


@click.command(name="status")
def command() -> None:
    """Show the cluster that runs in the background.

    The exit status is 0 if it runs and responds, otherwise 1.
    """
    import asyncio

    from bayplan.cli.detached import load
    from bayplan.client.errors import ClientError

    cluster = load()
    if cluster is None:
        click.echo("No cluster is running in the background. Start one with: bayplan up --detach")
        raise SystemExit(1)
    if not cluster.is_running:
        click.echo(f"The cluster of process {cluster.pid} has ended by itself. Its log: {cluster.log}")
        click.echo("bayplan down tidies up after it.")
        raise SystemExit(1)
    try:
        counts = asyncio.run(_counts(cluster.kubeconfig))
    except (ClientError, TimeoutError) as error:
        counts = f"but it does not respond: {error or 'no answer within 5 s'}"
        _show(cluster, counts)
        raise SystemExit(1) from None
    _show(cluster, counts)


def _show(cluster: DetachedCluster, state: str) -> None:
    click.echo(f"The cluster at {cluster.server} is running, {state}.")
    click.echo(f"  process     {cluster.pid}, since {cluster.since}")
    click.echo(f"  kubeconfig  {cluster.kubeconfig}")
    if cluster.merged:
        click.echo(f"  context     bayplan in {cluster.merged}")
    click.echo(f"  log         {cluster.log}")


async def _counts(kubeconfig: str) -> str:
    import asyncio

    from bayplan.client import HttpTransport, KubeClient, load_access
    from bayplan.clock import SystemClock

    client = KubeClient(HttpTransport(load_access(kubeconfig), SystemClock()), SystemClock())
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            nodes = (await client.request("GET", "/api/v1/nodes"))["items"]
            pods = (await client.request("GET", "/api/v1/pods"))["items"]
    finally:
        await client.close()
    n_pending = sum(pod["status"].get("phase") == "Pending" for pod in pods)
    return f"with {len(nodes)} nodes and {len(pods)} pods ({n_pending} pending)"
