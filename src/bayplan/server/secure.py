"""SecureServer: HTTPS on one address; every request is authenticated, authorized and then answered."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayplan.client.errors import ClientError
from bayplan.framework import Clock
from bayplan.observe import klog
from bayplan.server.authentication import Authenticator, ReviewClient, UnauthorizedError, User
from bayplan.server.authorization import AuthorizationError, Authorizer
from bayplan.server.endpoints import Asked, Endpoints, status_answer, text_answer
from bayplan.server.tls import (
    ServingError,
    load_pair,
    make_context,
    pair_in,
    read_pair,
    self_signed,
    trust_clients,
)

if TYPE_CHECKING:
    from aiohttp import web

log = klog.get_logger("bayplan.server")

#: Where the API server says whose certificates it believes.
CLIENT_CA_PATH: Final = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
#: Certificates in files and in the cluster are looked at this often.
REFRESH_SECONDS: Final = 60.0
#: Nothing that anybody sends us is longer.
MAX_BODY_BYTES: Final = 1024
SHUTDOWN_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """What --bind-address, --secure-port, --tls-*, --cert-dir and --client-ca-file say."""

    address: str = "127.0.0.1"
    port: int = 10259
    certificate_file: str = ""
    key_file: str = ""
    cert_dir: str = ""
    min_version: str = ""
    ciphers: tuple[str, ...] = ()
    client_ca_file: str = ""
    reuse_address: bool = False
    reuse_port: bool = False
    #: Ask the cluster whose client certificates to believe, and whether a failure of that is the end.
    look_up_client_ca: bool = True
    tolerate_lookup_failure: bool = True


class SecureServer:
    """See the module's text."""

    def __init__(
        self,
        options: ServingOptions,
        endpoints: Endpoints,
        authenticator: Authenticator,
        authorizer: Authorizer,
        clock: Clock,
        *,
        cluster: ReviewClient | None = None,
    ) -> None:
        """*cluster* is where the client certificate authority is looked up."""
        self._options = options
        self._routes = endpoints.routes()
        self._paths = {path for _, path in self._routes}
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._clock = clock
        self._cluster = cluster
        self._context = make_context(min_version=options.min_version, ciphers=options.ciphers)
        self._files = (options.certificate_file, options.key_file)
        self._loaded: object = None
        self._client_ca = ""
        self._runner: web.ServerRunner | None = None
        self._refreshing: asyncio.Task[None] | None = None
        #: The port that is served, once it is.
        self.port = options.port

    # --- running ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Raises ServingError where there is no serving."""
        from aiohttp import web  # a process that serves nothing does without

        self._load_certificate()
        if self._options.client_ca_file:
            self._trust(_read(self._options.client_ca_file), self._options.client_ca_file)
        if not self._options.tolerate_lookup_failure:
            await self.look_up_client_ca()
        runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        self._runner = runner
        site = web.TCPSite(
            runner,
            self._options.address,
            self._options.port,
            ssl_context=self._context,
            reuse_address=self._options.reuse_address or None,
            reuse_port=self._options.reuse_port or None,
        )
        try:
            await site.start()
        except OSError as error:
            await self.stop()
            where = f"{self._options.address}:{self._options.port}"
            raise ServingError(f"cannot serve on {where}: {error.strerror or error}") from None
        self.port = runner.addresses[0][1]
        log.info(f"Serving securely on {self._options.address}:{self.port}")
        self._refreshing = asyncio.create_task(self._keep_fresh(), name="serving certificates")

    async def stop(self) -> None:
        """No new requests; those under way have a few seconds."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)
            self._refreshing = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    # --- requests ---------------------------------------------------------------------------------

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        response = await self._answer(request)
        response.headers["Cache-Control"] = "no-cache, private"
        response.headers["Server"] = "bayplan"
        return response

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        # 1. Who is it?
        certificate = request.get_extra_info("peercert")
        try:
            user = await self._authenticator.authenticate(request.headers.get("Authorization", ""), certificate)
        except UnauthorizedError:
            return status_answer(401, "Unauthorized", "Unauthorized")
        # 2. May they?
        refusal = await self._refusal(user, request)
        if refusal is not None:
            return refusal
        # 3. Answer.
        method = "GET" if request.method == "HEAD" else request.method
        handler = self._routes.get((method, request.path))
        if handler is None:
            if request.path in self._paths:
                return text_answer("405 method not allowed\n", status=405)
            return text_answer("404 page not found\n", status=404)
        query = {name: request.query.getall(name) for name in request.query}
        body = await request.content.read(MAX_BODY_BYTES) if method == "PUT" else b""
        return handler(Asked(query, request.headers.get("Accept", "*/*"), body))

    async def _refusal(self, user: User, request: web.BaseRequest) -> web.Response | None:
        verb, path = request.method.lower(), request.path
        try:
            access = await self._authorizer.authorize(user, verb, path)
        except AuthorizationError:
            message = f'Internal Server Error: "{path}": the API server did not say whether this is allowed'
            return text_answer(f"{message}\n", status=500)
        if access.allowed:
            return None
        message = f'forbidden: User "{user.name}" cannot {verb} path "{path}"'
        return status_answer(403, "Forbidden", f"{message}: {access.reason}" if access.reason else message)

    # --- certificates -----------------------------------------------------------------------------

    def _load_certificate(self) -> None:
        options = self._options
        addresses = [] if options.address in ("0.0.0.0", "::") else [options.address]  # noqa: S104
        if not any(self._files):
            if not options.cert_dir:
                load_pair(self._context, self_signed(addresses=addresses), "self-signed")
                log.info("Generated self-signed cert in-memory")
                return
            self._files = pair_in(options.cert_dir, addresses=addresses)
        elif not all(self._files):
            raise ServingError("--tls-cert-file and --tls-private-key-file go together; one of them is missing")
        self._loaded = _signature(*self._files)
        load_pair(self._context, read_pair(*self._files), self._files[0])

    def _trust(self, authorities: str, where: str) -> None:
        if authorities and authorities != self._client_ca:
            trust_clients(self._context, authorities, where)
            self._client_ca = authorities

    async def look_up_client_ca(self) -> None:
        """Believe the client certificates that the API server believes."""
        options = self._options
        if self._cluster is None or options.client_ca_file or not options.look_up_client_ca:
            return
        try:
            found = await self._cluster.request("GET", CLIENT_CA_PATH)
            self._trust((found.get("data") or {}).get("client-ca-file", ""), CLIENT_CA_PATH)
        except (ClientError, ServingError) as error:
            if not options.tolerate_lookup_failure:
                raise ServingError(f"cannot look up the client certificate authority: {error}") from None
            message = "Error looking up in-cluster authentication configuration; client certificates won't work"
            log.info(message, v=1, err=error)

    async def _keep_fresh(self) -> None:
        while True:
            with contextlib.suppress(ServingError):  # said already, and what is loaded goes on serving
                await self.look_up_client_ca()
            await self._clock.sleep(REFRESH_SECONDS)
            try:
                if all(self._files) and self._loaded != _signature(*self._files):
                    load_pair(self._context, read_pair(*self._files), self._files[0])
                    self._loaded = _signature(*self._files)
                    log.info("Loaded a new cert/key pair", name=self._files[0])
            except (ServingError, ssl.SSLError) as error:
                log.error(error, "The serving certificate is not renewed")


def _read(file: str) -> str:
    try:
        return Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ServingError(f"cannot read the client certificate authority: {file}: {error}") from None


def _signature(*files: str) -> object:
    """Differs when a file was renewed."""
    try:
        return tuple((file, os.stat(file).st_mtime_ns, os.stat(file).st_ino) for file in files)
    except OSError:
        return None
