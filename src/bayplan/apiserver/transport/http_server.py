"""The HTTPS server on loopback: address, authentication, and the kubeconfig for clients."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import logging
import os
import socket
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

import yaml

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.rest.root_paths import ANONYMOUS_PATHS
from bayplan.apiserver.transport.api_messages import ADMIN, UserInfo
from bayplan.apiserver.transport.http_connection import HttpConnection
from bayplan.apiserver.transport.memory_release import MemoryRelease
from bayplan.apiserver.transport.server_credentials import ServerCredentials, credentials_in, make_credentials
from bayplan.server.serving_certificates import ServingError, load_pair, make_context

log = logging.getLogger("bayplan.apiserver")

#: Host names of a server on loopback; requests to others come from a browser that was redirected here.
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
#: Wildcard addresses, and the address at which local clients find them.
_WILDCARDS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  users may choose it
ANONYMOUS: Final = UserInfo("system:anonymous", ("system:unauthenticated",))
#: How long a stop waits for responses in progress.
STOP_SECONDS: Final = 2.0
_NAME: Final = "bayplan"


class HttpServer:
    """Serves an ApiServer at one address."""

    def __init__(
        self,
        server: ApiServer,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        credentials: ServerCredentials | None = None,
        names: frozenset[str] = frozenset(),
    ) -> None:
        """*names*: more host names that clients may use."""
        self.api = server
        self._host = host
        #: The port, once the server listens.
        self.port = port
        self.names = LOOPBACK_NAMES | _names_at(host) | names
        if credentials is None:
            known = sorted(self.names)
            credentials = (
                credentials_in(server.data, known) if server.data is not None else make_credentials(known)
            )
        self.credentials = credentials
        self._token = credentials.token.encode()
        self._server: asyncio.Server | None = None
        self.connections: set[HttpConnection] = set()
        self.memory = MemoryRelease()

    async def start(self) -> None:
        """Start listening; raises ServingError if the address is not available."""
        context = make_context()
        load_pair(context, self.credentials.pair, "the API server's own")
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: HttpConnection(self), self._host, self.port, ssl=context, reuse_address=True
            )
        except OSError as error:
            raise ServingError(f"cannot serve on {self._host}:{self.port}: {_reason(error)}") from None
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop accepting requests; watches end, responses in progress have a moment."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self.connections):
            connection.finish()
        deadline = asyncio.get_running_loop().time() + STOP_SECONDS
        while self.connections and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        for connection in list(self.connections):
            connection.abort()
        self.memory.cancel()
        self._server = None

    # --- for clients ------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        host = _WILDCARDS.get(self._host, self._host)
        return f"https://[{host}]:{self.port}" if ":" in host else f"https://{host}:{self.port}"

    @property
    def token(self) -> str:
        return self.credentials.token

    @property
    def certificate(self) -> bytes:
        """The certificate for clients to trust, PEM."""
        return self.credentials.pair.certificate

    def kubeconfig(self) -> str:
        """A kubeconfig for the administrator, as YAML."""
        authority = base64.b64encode(self.certificate).decode()
        cluster = {"server": self.url, "certificate-authority-data": authority}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": _NAME, "cluster": cluster}],
            "users": [{"name": _NAME, "user": {"token": self.token}}],
            "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME}}],
            "current-context": _NAME,
        }
        return yaml.safe_dump(config, sort_keys=False)

    # --- requests ---------------------------------------------------------------------------------

    def user_of(self, authorization: bytes, path: str) -> UserInfo:
        """The user of the Authorization header; a 401 for an unknown one."""
        scheme, _, shown = authorization.partition(b" ")
        if scheme.lower() == b"bearer":
            if hmac.compare_digest(self._token, shown.strip()):
                return ADMIN
            account = self.api.tokens.user_of(shown.strip().decode("latin-1"))
            if account is not None:
                return account
        elif not authorization and path in ANONYMOUS_PATHS:
            return ANONYMOUS
        raise StatusError(401, "Unauthorized", "Unauthorized")

    def check_origin(self, host: str, origin: str | None) -> None:
        """Raise a 403 for requests that a foreign web page makes a browser send."""
        name = _host_name(host)
        if name not in self.names:
            raise StatusError(
                403, "Forbidden", f'forbidden: the Host header names "{host}", which is not this server'
            )
        if origin is not None and _host_name(urlsplit(origin).netloc) not in self.names:
            raise StatusError(403, "Forbidden", f'forbidden: requests from the origin "{origin}" are not served')


def _reason(error: OSError) -> str:
    """The system's message, without asyncio's."""
    if error.errno is not None and error.errno > 0:  # resolver errors have other numbers
        return os.strerror(error.errno)
    return error.strerror or str(error)


def _names_at(host: str) -> frozenset[str]:
    """The names of a server that listens on *host*."""
    if host not in _WILDCARDS:
        return frozenset({host.lower()})
    own = socket.gethostname()
    addresses: set[str] = set()
    with contextlib.suppress(OSError):  # a host name that cannot be resolved
        addresses |= {str(found[4][0]).partition("%")[0] for found in socket.getaddrinfo(own, None)}
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # The address that others see. Nothing is sent: connecting a datagram socket only chooses a route.
        probe.connect(("192.0.2.1", 9))
        addresses.add(probe.getsockname()[0])
    return frozenset({own.lower(), *addresses})


@lru_cache(maxsize=64)
def _host_name(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
