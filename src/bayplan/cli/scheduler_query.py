"""Asks a running Bayplan: the record of the last attempt as it was, and its queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

import click

if TYPE_CHECKING:
    from bayplan.client import ClusterAccess, KubeClient
    from bayplan.config import Loaded

T = TypeVar("T")

#: Stands for the holder of the Lease.
AUTO: Final = "auto"
PORT: Final = 10259


class SchedulerQuery:
    """A question to the endpoints of a running Bayplan, with the credentials of the kubeconfig."""

    def __init__(
        self,
        access: ClusterAccess,
        server: str,
        load: Callable[[], Loaded],
        *,
        ca_file: str = "",
        insecure: bool = False,
    ) -> None:
        """*server*: a URL, or `auto` for the holder of the Lease, which the configuration that *load* gives names.
        Without *ca_file* and *insecure*, the server's certificate must be one that this machine trusts."""
        self._access = access
        self._server = server
        self._load = load
        self._ca_file = ca_file
        self._insecure = insecure

    def ask(self, path: str, query: Mapping[str, str | int], answer: type[T]) -> T:
        """The *answer* of an endpoint; an error ends the command."""
        from bayplan.client import ApiError, ClientError

        try:
            return asyncio.run(self._ask(path, query, answer))
        except ApiError as error:
            raise click.ClickException(str(error)) from error
        except (ClientError, TimeoutError) as error:
            raise click.ClickException(f"the scheduler does not answer: {error}") from error

    async def _ask(self, path: str, query: Mapping[str, str | int], answer: type[T]) -> T:
        import msgspec

        from bayplan.client import ClusterAccess, HttpTransport, KubeClient, Pem, Trust
        from bayplan.clock import SystemClock

        clock, server = SystemClock(), self._server
        if server == AUTO:
            client = KubeClient(HttpTransport(self._access, clock), clock)
            try:
                server = await leading_server(client, self._load())
            finally:
                await client.close()
        trust = Trust(ca=Pem(file=self._ca_file) if self._ca_file else Pem(), insecure=self._insecure)
        access = ClusterAccess(server.rstrip("/"), trust, self._access.auth_info)
        client = KubeClient(HttpTransport(access, clock), clock)
        given = {name: value for name, value in query.items() if value}
        try:
            return msgspec.json.decode(await client.get_bytes(path, given), type=answer)
        finally:
            await client.close()


async def leading_server(client: KubeClient, loaded: Loaded) -> str:
    """The address of the replica that holds the Lease: of its pod, or of its host."""
    from bayplan.client import NotFoundError

    election = loaded.config.leader_election
    namespace, lease_name = election.resource_namespace, election.resource_name
    try:
        lease = await client.get_lease(namespace, lease_name)
    except NotFoundError:
        raise click.ClickException(
            f"there is no Lease {namespace}/{lease_name}: no scheduler leads; give its address with --server"
        ) from None
    host = str((lease.get("spec") or {}).get("holderIdentity") or "").rpartition("_")[0]
    if not host:
        raise click.ClickException(f"the Lease {namespace}/{lease_name} has no holder: no scheduler leads now")
    try:
        pod = await client.request("GET", f"/api/v1/namespaces/{namespace}/pods/{host}")
        host = (pod.get("status") or {}).get("podIP") or host
    except NotFoundError:
        pass  # a process on a host, not a pod
    return f"https://[{host}]:{PORT}" if ":" in host else f"https://{host}:{PORT}"
