"""HTTPS on loopback: where the server listens, who may ask, and what clients need to know."""

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

from bayplan.apiserver.exchange import ADMIN, User
from bayplan.apiserver.http_connection import HttpConnection
from bayplan.apiserver.identity import Identity, identity_in, make_identity
from bayplan.apiserver.paths import ANONYMOUS_PATHS
from bayplan.apiserver.server import ApiServer
from bayplan.apiserver.status import StatusError
from bayplan.server.tls import ServingError, load_pair, make_context

log = logging.getLogger("bayplan.apiserver")

#: Names under which a server on loopback may be asked; others are a browser that was led here.
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
#: All addresses of the machine, and where its own clients find them.
_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  what users may ask for
ANONYMOUS: Final = User("system:anonymous", ("system:unauthenticated",))
#: How long a stop waits for answers on their way.
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
        identity: Identity | None = None,
        names: frozenset[str] = frozenset(),
    ) -> None:
        """*names*: more host names that clients may use."""
        self.api = server
        self._host = host
        #: The port that is served, once it is.
        self.port = port
        self.names = LOOPBACK_NAMES | _names_at(host) | names
        if identity is None:
            known = sorted(self.names)
            identity = identity_in(server.data, known) if server.data is not None else make_identity(known)
        self.identity = identity
        self._tokens: dict[bytes, User] = {identity.token.encode(): ADMIN}
        self._server: asyncio.Server | None = None
        self.connections: set[HttpConnection] = set()

    async def start(self) -> None:
        """Raises ServingError if the address cannot be had."""
        context = make_context()
        load_pair(context, self.identity.pair, "the API server's own")
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: HttpConnection(self), self._host, self.port, ssl=context, reuse_address=True
            )
        except OSError as error:
            raise ServingError(f"cannot serve on {self._host}:{self.port}: {_reason(error)}") from None
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """No new requests; watches end, answers on their way have a moment."""
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
        self._server = None

    # --- for clients ------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        host = _ANYWHERE.get(self._host, self._host)
        return f"https://[{host}]:{self.port}" if ":" in host else f"https://{host}:{self.port}"

    @property
    def token(self) -> str:
        return self.identity.token

    @property
    def certificate(self) -> bytes:
        """What clients are to trust, PEM."""
        return self.identity.pair.certificate

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

    def add_token(self, token: str, user: User) -> None:
        """Somebody else who may ask."""
        self._tokens[token.encode()] = user

    # --- requests ---------------------------------------------------------------------------------

    def user_of(self, authorization: bytes, path: str) -> User:
        """Who shows this header; a 401 for nobody we know."""
        scheme, _, shown = authorization.partition(b" ")
        if scheme.lower() == b"bearer":
            for token, user in self._tokens.items():
                if hmac.compare_digest(token, shown.strip()):
                    return user
        elif not authorization and path in ANONYMOUS_PATHS:
            return ANONYMOUS
        raise StatusError(401, "Unauthorized", "Unauthorized")

    def check_origin(self, host: str, origin: str | None) -> None:
        """A 403 for what a page from elsewhere makes a browser send."""
        name = _host_name(host)
        if name not in self.names:
            raise StatusError(
                403, "Forbidden", f'forbidden: the Host header names "{host}", which is not this server'
            )
        if origin is not None and _host_name(urlsplit(origin).netloc) not in self.names:
            raise StatusError(403, "Forbidden", f'forbidden: requests from the origin "{origin}" are not served')


def _reason(error: OSError) -> str:
    """In the system's words, without asyncio's."""
    if error.errno is not None and error.errno > 0:  # names that nobody resolves have numbers of their own
        return os.strerror(error.errno)
    return error.strerror or str(error)


def _names_at(host: str) -> frozenset[str]:
    """Under which names a server is reached that listens on *host*."""
    if host not in _ANYWHERE:
        return frozenset({host.lower()})
    own = socket.gethostname()
    addresses: set[str] = set()
    with contextlib.suppress(OSError):  # a name that nobody resolves, not even the machine itself
        addresses |= {str(found[4][0]).partition("%")[0] for found in socket.getaddrinfo(own, None)}
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # The address that others see. Nothing is sent: "connecting" a datagram socket only chooses a route.
        probe.connect(("192.0.2.1", 9))
        addresses.add(probe.getsockname()[0])
    return frozenset({own.lower(), *addresses})


@lru_cache(maxsize=64)
def _host_name(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
